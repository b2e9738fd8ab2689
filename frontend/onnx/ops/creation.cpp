// Tensors made of shapes and numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/onnx/file/dtypes.h"
#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

Items shape_of(const Call& call) {
  Tensor x = call.need(0);
  auto bound = [&](const char* name, int64_t missing) {
    int64_t i = call.i(name, missing);
    return std::clamp<int64_t>(i < 0 ? i + x.rank() : i, 0, x.rank());
  };
  int64_t start = bound("start", 0), end = bound("end", x.rank());
  Ints sizes;
  for (int64_t d = start; d < end; ++d) sizes.push_back(x.dim(d));
  return {x.ints(sizes)};
}

Items size_of(const Call& call) {
  Tensor x = call.need(0);
  return {x.ints({x.num_elements()}).reshape({})};
}

template <typename List>
Literal vector_literal(DType dtype, const List& list) {
  Literal literal({dtype, {static_cast<int64_t>(list.size())}});
  for (size_t i = 0; i < list.size(); ++i) {
    if constexpr (std::is_same_v<List, Ints>)
      literal.set_int(static_cast<int64_t>(i), list[i]);
    else
      literal.set_double(static_cast<int64_t>(i), list[i]);
  }
  return literal;
}

Items constant(const Call& call) {
  for (const auto& [name, value] : call.attributes) {
    if (name == "value" || name == "sparse_value") {
      if (!value.tensor) refuse_input("The attribute (value) is no tensor.");
      return {call.constant(*value.tensor)};
    }
    if (name == "value_int")
      return {call.constant(vector_literal(DType::kI64, Ints{value.i})).reshape({})};
    if (name == "value_float") return {call.constant(Literal::scalar(DType::kF32, value.f))};
    if (name == "value_ints") return {call.constant(vector_literal(DType::kI64, value.ints))};
    if (name == "value_floats") return {call.constant(vector_literal(DType::kF32, value.floats))};
    if (name == "value_string" || name == "value_strings")
      refuse_unsupported("Strings are not supported.");
  }
  refuse_input("The constant has no value.");
}

Items constant_of_shape(const Call& call) {
  Shape shape = call.known_ints(0);
  auto found = call.attributes.find("value");
  Literal value = Literal::scalar(DType::kF32, 0);
  if (found != call.attributes.end() && found->second.tensor) value = *found->second.tensor;
  if (value.num_elements() != 1) refuse_input("The attribute (value) is not one number.");
  return {call.constant(value).reshape({}).broadcast_to(shape)};
}

// The number of elements follows from the operands; the elements are counted on the device.
Items range_of(const Call& call) {
  Literal start = call.known(0), limit = call.known(1), delta = call.known(2);
  Tensor first = call.need(0).reshape({}), step = call.need(2).reshape({});
  double count = 0;
  if (is_float(first.dtype())) {
    if (delta.get_double(0) == 0) refuse_input("The step is 0.");
    count = std::ceil((limit.get_double(0) - start.get_double(0)) / delta.get_double(0));
  } else {
    int64_t by = delta.get_int(0), distance = limit.get_int(0) - start.get_int(0);
    if (by == 0) refuse_input("The step is 0.");
    count = static_cast<double>(distance / by + (distance % by != 0 && (distance > 0) == (by > 0)));
  }
  constexpr double kMaxCount = 1 << 30;
  if (!(count <= kMaxCount)) refuse_input("The range has too many elements.");
  Shape shape{static_cast<int64_t>(std::max(count, 0.0))};
  return {first.iota(shape, 0, first.dtype()) * step + first};
}

Items eye_like(const Call& call) {
  Tensor x = call.need(0);
  if (x.rank() != 2) refuse_input("The input is no matrix.");
  DType dtype = call.has("dtype") ? dtype_of(call.i("dtype", 1)) : x.dtype();
  Tensor diagonal = x.iota(x.shape(), 0) + static_cast<double>(call.i("k", 0));
  return {equal(diagonal, x.iota(x.shape(), 1)).convert(dtype)};
}

Items trilu(const Call& call) {
  Tensor x = call.need(0);
  Shape matrix{x.dim(-2), x.dim(-1)};
  Tensor diagonal = x.iota(matrix, 0), column = x.iota(matrix, 1);
  if (call.in(1)) diagonal = diagonal + call.in(1).reshape({}).convert(DType::kI64);
  Tensor kept = call.flag("upper", true) ? column >= diagonal : column <= diagonal;
  return {kept.select(x, x.scalar(0))};
}

Items one_hot(const Call& call) {
  Tensor indices = call.need(0).convert(DType::kI64), values = call.need(2);
  Literal depth_value = call.known(1);
  int64_t depth = is_float(depth_value.type().dtype)
                      ? static_cast<int64_t>(depth_value.get_double(0))
                      : depth_value.get_int(0);
  if (depth < 1) refuse_input("The depth is not positive.");
  int64_t axis = call.i("axis", -1);
  if (axis < 0) axis += indices.rank() + 1;
  Tensor spread = wrap_indices(indices, depth).unsqueeze({axis});
  Shape shape = spread.shape();
  shape[static_cast<size_t>(axis)] = depth;
  Tensor hot = equal(spread.broadcast_to(shape), indices.iota(shape, axis));
  return {hot.select(values.slice(0, 1, 2).reshape({}), values.slice(0, 0, 1).reshape({}))};
}

// A mask where the model trains is random; where it runs everything is kept.
Items dropout(const Call& call) {
  Tensor x = call.need(0);
  bool trains = call.in(2) && call.known(2).get_int(0) != 0;
  double ratio = call.in(1) ? call.known(1).get_double(0) : call.f("ratio", 0.5);
  if (trains && ratio != 0)
    refuse_unsupported("Dropout in training is random; export the model for inference.");
  Items results{x};
  if (call.wants(1)) {
    Tensor kept = call.opset < 10 ? x.scalar(1) : x.scalar(1).convert(DType::kBool);
    results.emplace_back(kept.broadcast_to(x.shape()));
  }
  return results;
}

constexpr OpRow kCreationRows[] = {
    {"Constant", constant, "No strings."},
    {"ConstantOfShape", constant_of_shape},
    {"Dropout", dropout, "Not in training with a ratio above 0, which is random."},
    {"EyeLike", eye_like},
    {"OneHot", one_hot},
    {"Range", range_of},
    {"Shape", shape_of},
    {"Size", size_of},
    {"Trilu", trilu},
};

}  // namespace

std::span<const OpRow> creation_ops() { return kCreationRows; }

}  // namespace tuff::onnx
