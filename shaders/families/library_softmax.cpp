// A rows group that is a softmax and nothing else, as a library call.
#include "ir/affine_access.h"
#include "shaders/families/family.h"
#include "shaders/families/library.h"
#include "shaders/families/reducer.h"

namespace tuff {

namespace {

// The reduce over the last dimension whose result `v` repeats along it, if it is one.
const Node* repeated_reduce(const Graph& region, Value v, Op with) {
  if (region.type(v).shape.empty()) return nullptr;
  auto access = affine_access(region, v, [](uint32_t) { return true; });
  if (!access || !reduces_last(region, region.node(access->base), with)) return nullptr;
  Shape rows = region.type(v).shape;
  rows.back() = 1;
  std::vector<int64_t> expected = row_major_strides(rows);
  for (size_t d = 0; d < rows.size(); ++d)
    if (region.type(v).shape[d] > 1 && access->strides[d] != (rows[d] > 1 ? expected[d] : 0))
      return nullptr;
  return access->offset == 0 ? &region.node(access->base) : nullptr;
}

}  // namespace

std::optional<LibraryLowering> softmax_call(const GroupContext& group) {
  const Graph& region = group.region;
  if (region.outputs().size() != 1 || region.type(region.outputs()[0]).dtype != DType::kF32)
    return std::nullopt;
  const Node& quotient = region.node(through_reshapes(region, region.outputs()[0]));
  if (quotient.op != Op::kDivide) return std::nullopt;
  const Node& power = region.node(quotient.operands[0]);
  const Node* sum = repeated_reduce(region, quotient.operands[1], Op::kAdd);
  if (power.op != Op::kExponential || sum == nullptr || sum->operands[0] != quotient.operands[0])
    return std::nullopt;
  const Node& difference = region.node(power.operands[0]);
  if (difference.op != Op::kSubtract) return std::nullopt;
  const Node* maximum = repeated_reduce(region, difference.operands[1], Op::kMaximum);
  Value input = difference.operands[0];
  if (maximum == nullptr || maximum->operands[0] != input) return std::nullopt;
  Value source = through_reshapes(region, input);
  const TensorType& type = region.type(input);
  if (region.node(source).op != Op::kParameter || type.num_elements() == 0) return std::nullopt;
  return whole_call(SoftmaxCall{type.num_elements() / type.shape.back(), type.shape.back()},
                    {source.node});
}

}  // namespace tuff
