// A rows group that is a layer norm and nothing else, as a library call.
#include <cmath>

#include "ir/affine_access.h"
#include "ir/rewrite.h"
#include "shaders/families/family.h"
#include "shaders/families/library.h"
#include "shaders/families/reducer.h"

namespace tuff {

namespace {

class LayerNormMatcher {
 public:
  explicit LayerNormMatcher(const Graph& region) : region_(region) {}

  std::optional<LibraryLowering> match() {
    if (region_.outputs().size() != 1) return std::nullopt;
    Value v = through_reshapes(region_.outputs()[0]);
    shape_ = region_.type(v).shape;
    if (region_.type(v).dtype != DType::kF32 || shape_.empty() || num_elements(shape_) == 0)
      return std::nullopt;
    std::optional<AffineAccess> shift = peel_column(v, Op::kAdd);
    std::optional<AffineAccess> scale = peel_column(v, Op::kMultiply);
    Value input;
    float epsilon = 0;
    if (!is_normalized(v, input, epsilon)) return std::nullopt;
    Value source = through_reshapes(input);
    if (region_.node(source).op != Op::kParameter) return std::nullopt;
    LayerNormCall call;
    call.rows = num_elements(shape_) / shape_.back();
    call.columns = shape_.back();
    call.epsilon = epsilon;
    std::vector<uint32_t> parameters{source.node};
    for (auto [access, offset] :
         {std::pair(&scale, &call.scale_offset), std::pair(&shift, &call.shift_offset)}) {
      if (!*access) continue;
      *offset = (*access)->offset;
      parameters.push_back((*access)->base.node);
    }
    return whole_call(call, parameters);
  }

 private:
  Value through_reshapes(Value v) const {
    while (region_.node(v).op == Op::kReshape) v = region_.node(v).operands[0];
    return v;
  }

  // v = op(rest, a vector along the columns): v becomes the rest.
  std::optional<AffineAccess> peel_column(Value& v, Op op) const {
    const Node& node = region_.node(v);
    if (node.op != op) return std::nullopt;
    for (size_t side : {1, 0}) {
      auto access = affine_access(region_, node.operands[side], [](uint32_t) { return true; });
      if (!access || region_.node(access->base).op != Op::kParameter || access->strides.back() != 1)
        continue;
      bool vector = true;
      for (size_t d = 0; d + 1 < shape_.size(); ++d)
        vector &= shape_[d] == 1 || access->strides[d] == 0;
      if (!vector) continue;
      v = node.operands[1 - side];
      return access;
    }
    return std::nullopt;
  }

  // (x - mean) * rsqrt(variance + epsilon)
  bool is_normalized(Value v, Value& input, float& epsilon) const {
    const Node& product = region_.node(v);
    if (product.op != Op::kMultiply) return false;
    for (size_t side : {0, 1}) {
      Value difference = product.operands[side];
      auto root = row_value(product.operands[1 - side]);
      if (!root || region_.node(*root).op != Op::kRsqrt) continue;
      const Node& sum = region_.node(through_reshapes(region_.node(*root).operands[0]));
      const Literal* added = sum.op == Op::kAdd ? splat_value(region_, sum.operands[1]) : nullptr;
      const Node& centred = region_.node(difference);
      if (!added || centred.op != Op::kSubtract) continue;
      input = centred.operands[0];
      auto mean = row_value(centred.operands[1]);
      auto squares = mean_of(sum.operands[0]), values = mean ? mean_of(*mean) : std::nullopt;
      if (!squares || values != input) continue;
      const Node& square = region_.node(*squares);
      if (square.op != Op::kMultiply || square.operands[0] != difference ||
          square.operands[1] != difference)
        continue;
      epsilon = static_cast<float>(added->get_double(0));
      return true;
    }
    return false;
  }

  // The value of one element per row that `v` repeats along its columns.
  std::optional<Value> row_value(Value v) const {
    auto access = affine_access(region_, v, [](uint32_t) { return true; });
    if (!access || access->offset != 0 || region_.type(v).shape != shape_) return std::nullopt;
    Shape rows = shape_;
    rows.back() = 1;
    std::vector<int64_t> expected = row_major_strides(rows);
    for (size_t d = 0; d < rows.size(); ++d)
      if (shape_[d] > 1 && access->strides[d] != (rows[d] > 1 ? expected[d] : 0))
        return std::nullopt;
    if (region_.type(access->base).num_elements() != num_elements(rows)) return std::nullopt;
    return access->base;
  }

  // `v`, one element per row, is the mean of what over the columns?
  std::optional<Value> mean_of(Value v) const {
    const Node& quotient = region_.node(through_reshapes(v));
    if (quotient.op != Op::kDivide && quotient.op != Op::kMultiply) return std::nullopt;
    const Literal* by = splat_value(region_, quotient.operands[1]);
    const Node& sum = region_.node(through_reshapes(quotient.operands[0]));
    // Canonical form multiplies where the divisor is a power of two.
    auto count = static_cast<double>(shape_.back());
    if (!by || by->get_double(0) != (quotient.op == Op::kDivide ? count : 1 / count) ||
        !reduces_last(region_, sum, Op::kAdd) || region_.type(sum.operands[0]).shape != shape_)
      return std::nullopt;
    return sum.operands[0];
  }

  const Graph& region_;
  Shape shape_;
};

}  // namespace

std::optional<LibraryLowering> lower_row_call(GroupContext& group) {
  auto softmax = softmax_call(group);
  return softmax ? softmax : LayerNormMatcher(group.region).match();
}

}  // namespace tuff
