#include "frontend/onnx/build/bounds.h"

#include <fmt/format.h>

#include <algorithm>

namespace tuff::onnx {

namespace {

constexpr const char* kElementwise[] = {
    "Abs",      "Add",        "And",         "Cast",    "Ceil",    "Clip",
    "Div",      "Equal",      "Exp",         "Floor",   "Greater", "GreaterOrEqual",
    "Identity", "Less",       "LessOrEqual", "Log",     "Max",     "Min",
    "Mod",      "Mul",        "Neg",         "Not",     "Or",      "Pow",
    "Relu",     "Reciprocal", "Round",       "Sigmoid", "Sign",    "Sqrt",
    "Sub",      "Tanh",       "Where",       "Xor",
};

// The dimension of the result that dimension `dim` of input i becomes; nothing where the operator
// does not keep it apart.
std::optional<int64_t> dimension_through(const Call& call, size_t i, int64_t dim,
                                         const Tensor& result) {
  const Tensor& x = call.inputs[i].tensor;
  auto is = [&](std::string_view name) { return call.op == name; };
  if (std::find(std::begin(kElementwise), std::end(kElementwise), call.op) !=
      std::end(kElementwise))
    return dim + result.rank() - x.rank();
  if (is("Transpose")) {
    Ints permutation = call.ints("perm");
    if (permutation.empty()) return x.rank() - 1 - dim;
    return std::find(permutation.begin(), permutation.end(), dim) - permutation.begin();
  }
  if (is("Unsqueeze") || is("Squeeze")) {
    Ints axes = call.ints_of("axes", 1).value_or(Ints());
    int64_t rank = is("Squeeze") ? x.rank() : result.rank();
    for (int64_t& a : axes) a = a < 0 ? a + rank : a;
    std::sort(axes.begin(), axes.end());
    if (axes.empty()) return std::nullopt;  // Squeeze of all that is 1: a count may be
    int64_t to = dim;
    for (int64_t a : axes) {
      if (is("Squeeze") && a == dim) return std::nullopt;
      if (is("Squeeze") ? a < dim : a <= to) to += is("Squeeze") ? -1 : 1;
    }
    return to;
  }
  if (is("Gather")) {
    int64_t axis = call.in(0).axis(call.i("axis", 0));
    if (i == 1) return axis + dim;
    if (dim == axis) return std::nullopt;
    return dim < axis ? dim : dim - 1 + call.in(1).rank();
  }
  if (is("GatherND")) return i == 1 && dim < x.rank() - 1 ? std::optional(dim) : std::nullopt;
  if (is("Slice") && result.dim(dim) == x.dim(dim)) return dim;
  return std::nullopt;
}

}  // namespace

void pass_bounds(const Call& call, Items* results) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const std::optional<Bound>& bound = call.inputs[i].bound;
    if (!bound) continue;
    for (Item& result : *results) {
      auto dim = dimension_through(call, i, bound->dim, result.tensor);
      if (!dim || (result.bound && (result.bound->dim != *dim ||
                                    result.bound->count.value() != bound->count.value())))
        refuse_unsupported(
            fmt::format("The length of its input ({}) is known only when the model runs. Such a "
                        "tensor may be an "
                        "output of the model, also through elementwise operators, Transpose, "
                        "Squeeze, Unsqueeze, "
                        "Gather, GatherND and Slice; end the model before this node.",
                        i));
      result.bound = Bound{*dim, bound->count};
    }
  }
}

}  // namespace tuff::onnx
