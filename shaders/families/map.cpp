// map: one lane per element. The space's dimensions are split in two: outer ones
// are grid loops, the rest is one flat index over lanes. The flat part is as long
// as it can be without divisions in the lanes (a bias row read under a flattened
// matrix would need one per element).
#include "shaders/families/family.h"
#include "shaders/schedule.h"

namespace tuff {

namespace {

bool divides_in_lanes(const Block& block, bool in_lanes) {
  for (const Stmt& stmt : block) {
    if (in_lanes && stmt.kind == Stmt::Kind::kCompute && stmt.op == Op::kIndexDiv) return true;
    if (divides_in_lanes(stmt.body, in_lanes || stmt.kind == Stmt::Kind::kLane)) return true;
  }
  return false;
}

// The kernel with the first `outer` dimensions as grid loops.
Result<LoweredStep> build_map(GroupContext& group, size_t outer, int64_t lanes,
                              const std::optional<GroupBuffer>& anchor_buffer) {
  const GroupSpace& space = group.space;
  Shape tail(space.dims.begin() + static_cast<long>(outer), space.dims.end());
  int64_t tail_size = num_elements(tail);
  FamilyKernel kernel(group, lanes);
  KernelBuilder& b = kernel.builder;
  for (size_t i = 0; i < outer; ++i) b.bind(space.vars[i], b.grid("d" + std::to_string(i), space.dims[i]));
  IndexExpr base = b.grid("block", (tail_size + lanes - 1) / lanes) * lanes;
  IndexExpr flat = base + b.begin_lanes(b.lane_extent(base, tail_size));
  std::vector<IndexExpr> at = delinearize(group.index, flat, tail);
  for (size_t i = 0; i < tail.size(); ++i) b.bind(space.vars[outer + i], at[i]);

  std::optional<uint32_t> anchor;
  if (anchor_buffer) {
    const TensorType& type = group.region.node(space.anchors[0]).types[0];
    kernel.emitter.anchor_value = [&, type](Value) {
      if (!anchor) anchor = b.add_buffer(type.dtype, Access::kRead, type.size_bytes());
      return b.load(*anchor, linearize(space.vars, space.dims), std::nullopt);
    };
  }
  // The anchor's buffer comes right after the outputs.
  if (anchor_buffer) kernel.emitter.anchor_value(Value{space.anchors[0], 0});
  for (size_t i = 0; i < group.region.outputs().size(); ++i) kernel.store_output(i, std::nullopt);
  b.end();
  TUFF_ASSIGN(LoweredStep step, kernel.finish());
  if (anchor_buffer)
    step.bindings.insert(step.bindings.begin() + static_cast<long>(group.region.outputs().size()), *anchor_buffer);
  return step;
}

}  // namespace

Result<LoweredStep> lower_map(GroupContext& group, std::optional<GroupBuffer> anchor_buffer) {
  const Shape& dims = group.space.dims;
  int64_t lanes = choose_map_schedule(group.caps, num_elements(dims)).lanes;
  std::optional<LoweredStep> flat;
  int64_t tail_size = num_elements(dims);
  for (size_t outer = 0; outer < std::max<size_t>(dims.size(), 1); ++outer) {
    // A short tail leaves lanes idle: better to divide.
    if (outer > 0) tail_size /= dims[outer - 1];
    if (outer > 0 && tail_size * 4 < std::min<int64_t>(lanes, 64)) break;
    GroupContext fresh = group;
    TUFF_ASSIGN(LoweredStep step, build_map(fresh, outer, lanes, anchor_buffer));
    if (!divides_in_lanes(step.kernel->body, false)) return step;
    if (!flat) flat = std::move(step);
  }
  return std::move(*flat);
}

}  // namespace tuff
