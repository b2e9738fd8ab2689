// A window group that reads rows of channels from memory, as a call and what follows it.
#include "ir/ops/window.h"
#include "ir/rewrite.h"
#include "shaders/families/family.h"
#include "shaders/families/library/library.h"
#include "shaders/families/reducer.h"

namespace tuff {

namespace {

bool is_whole(const WindowDims& dims, const Shape& result, size_t d) {
  return dims.sizes[d] == 1 && dims.strides[d] == 1 && dims.padding_low[d] == 0 &&
         dims.base_dilations[d] == 1 && dims.input[d] == result[d];
}

// Takes the innermost dimensions that windows do not reach across and that lie dense in the
// input as columns; returns how many dimensions are left.
size_t take_columns(const WindowDims& dims, const Shape& result,
                    const std::vector<int64_t>& strides, int64_t& columns) {
  size_t rank = result.size();
  for (columns = 1; rank > 0 && is_whole(dims, result, rank - 1); --rank) {
    if (result[rank - 1] != 1 && strides[rank - 1] != columns) break;
    columns *= result[rank - 1];
  }
  return rank;
}

}  // namespace

std::optional<LibraryLowering> lower_window_call(GroupContext& group) {
  if (scan_of(group)) return std::nullopt;
  const Graph& region = group.region;
  const Node& node = region.node(group.space.anchors[0]);
  if (node.op != Op::kReduceWindow || node.types.size() != 1) return std::nullopt;
  const TensorType& type = node.types[0];
  std::optional<Op> op = single_op(*node.regions[0]);
  const Literal* initial = constant_value(region, node.operands[1]);
  std::optional<AffineAccess> access = input_access(region, node.operands[0]);
  bool known = op == Op::kAdd || op == Op::kMultiply || op == Op::kMaximum || op == Op::kMinimum;
  if (!known || !initial || !access || type.num_elements() == 0 || type.dtype != DType::kF32 ||
      region.type(access->base).dtype != DType::kF32)
    return std::nullopt;
  WindowDims dims = window_dims(node, region.type(node.operands[0]).shape);
  WindowCall call;
  call.op = *op, call.initial = static_cast<float>(initial->get_double(0));
  size_t outer = take_columns(dims, type.shape, access->strides, call.columns);
  if (call.columns < kMinWindowColumns || outer > WindowCall::kMaxDims) return std::nullopt;
  call.offset = access->offset;
  for (size_t d = 0; d < outer; ++d) {
    call.dims.push_back({type.shape[d], dims.input[d], access->strides[d], dims.sizes[d],
                         dims.strides[d], dims.dilations[d], dims.padding_low[d],
                         dims.base_dilations[d]});
  }
  const Value result{group.space.anchors[0], 0};
  if (region.outputs().size() == 1 && through_reshapes(region, region.outputs()[0]) == result)
    return whole_call(std::move(call), {access->base.node});
  LibraryLowering lowering;
  lowering.step.call = std::move(call);
  lowering.step.bindings = {{GroupBuffer::Kind::kInput, access->base.node}};
  lowering.step.workgroups = 1;
  lowering.result = result;
  lowering.in_output_order = output_strides(group) == row_major_strides(group.space.dims);
  return lowering;
}

}  // namespace tuff
