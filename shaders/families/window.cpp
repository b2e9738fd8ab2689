// reduce_window: each lane owns a result element and folds its window. Work before
// it is done in the loads, work after it in the store.
#include "ir/ops/window.h"

#include "ir/rewrite.h"
#include "shaders/families/family.h"
#include "shaders/families/fold.h"
#include "shaders/families/reducer.h"

namespace tuff {

namespace {

// Gaps of a base dilation stand for the initial value, which may be one that changes nothing.
WindowDims window_dims_of(const Graph& region, const Node& node) {
  WindowDims dims = window_dims(node, region.type(node.operands[0]).shape);
  const Literal* initial = constant_value(region, node.operands.back());
  dims.skips_gaps = node.types.size() == 1 && initial && may_count_often(node, *initial);
  return dims;
}

// Padding takes part as the initial value.
std::vector<Operand> inputs_at(GroupContext& group, FamilyKernel& kernel, const Node& node,
                               const WindowElement& element, const std::vector<Operand>& inits) {
  KernelBuilder& b = kernel.builder;
  std::optional<Operand> inside = b.all_of(element.inside, std::nullopt);
  std::vector<Operand> values;
  for (size_t r = 0; r < inits.size(); ++r) {
    if (num_elements(group.region.type(node.operands[r]).shape) == 0) {
      values.push_back(inits[r]);
      continue;
    }
    Operand value = kernel.emitter.emit(node.operands[r], element.index, inside);
    value = b.convert(value, inits[r].dtype);
    if (inside) value = b.compute(Op::kSelect, value.dtype, {*inside, value, inits[r]});
    values.push_back(value);
  }
  return values;
}

std::vector<Operand> fold_window(GroupContext& group, FamilyKernel& kernel, const Node& node) {
  size_t n = node.types.size();
  WindowDims dims = window_dims_of(group.region, node);
  std::vector<Operand> inits;
  KernelBuilder& b = kernel.builder;
  for (size_t r = 0; r < n; ++r)
    inits.push_back(
        b.convert(kernel.emitter.emit(node.operands[n + r], {}), accumulator_dtype(node, r)));
  auto step = [&](const IndexVector& at, const std::vector<Operand>& state) {
    WindowElement element = window_element(group.index, dims, group.space.vars, at);
    return emit_reducer(b, node, state, inputs_at(group, kernel, node, element, inits));
  };
  std::vector<Operand> results =
      emit_fold(b, window_taps(dims), group.caps.max_loop_iterations, inits, step);
  for (size_t r = 0; r < n; ++r) results[r] = b.convert(results[r], node.types[r].dtype);
  return results;
}

}  // namespace

Result<LoweredGroup> lower_window(GroupContext& group) {
  if (auto scan = scan_of(group)) return lower_scan(group, *scan);
  const Node& node = group.region.node(group.space.anchors[0]);
  WindowDims dims = window_dims_of(group.region, node);
  TUFF_RETURN_IF_ERROR(check_fold(window_taps(dims), group.caps.max_loop_iterations, "A window"));
  PointAnchor anchor;
  anchor.results = [&node](GroupContext& at, FamilyKernel& kernel, uint32_t) {
    return fold_window(at, kernel, node);
  };
  return one_step(lower_map(group, &anchor));
}

}  // namespace tuff
