// map: one lane per element. The space's dimensions are split in two: outer ones
// are grid loops, the rest is one flat index over lanes. The flat part is as long
// as it can be without divisions in the lanes (a bias row read under a flattened
// matrix would need one per element).
#include <algorithm>
#include <numeric>

#include "shaders/families/family.h"
#include "shaders/schedule/schedule.h"

namespace tuff {

namespace {

bool divides_in_lanes(const Block& block, bool in_lanes) {
  for (const Stmt& stmt : block) {
    if (in_lanes && stmt.kind == Stmt::Kind::kCompute && stmt.op == Op::kIndexDiv) return true;
    if (divides_in_lanes(stmt.body, in_lanes || stmt.kind == Stmt::Kind::kLane)) return true;
  }
  return false;
}

// The space's dimensions as they follow each other in output 0, where that is the
// space in another order; else as they are. What is stored, and mostly what is
// loaded, is contiguous in this order.
std::vector<size_t> walking_order(const GroupContext& group) {
  const Shape& dims = group.space.dims;
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  auto strides = output_strides(group);
  if (!strides) return order;
  int64_t inner = 1;
  for (size_t d = dims.size(); d-- > 0; inner = (*strides)[d])
    if (dims[d] == 1) (*strides)[d] = inner;  // stays where it is
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return (*strides)[a] > (*strides)[b]; });
  return order;
}

// The kernel with the first `outer` dimensions of `order` as grid loops.
Result<LoweredStep> build_map(GroupContext& group, const std::vector<size_t>& order, size_t outer,
                              int64_t lanes, const PointAnchor* anchor) {
  const GroupSpace& space = group.space;
  Shape tail;
  for (size_t i = outer; i < order.size(); ++i) tail.push_back(space.dims[order[i]]);
  int64_t tail_size = num_elements(tail);
  FamilyKernel kernel(group, lanes);
  KernelBuilder& b = kernel.builder;
  for (size_t i = 0; i < outer; ++i)
    b.bind(space.vars[order[i]], b.grid("d" + std::to_string(i), space.dims[order[i]]));
  IndexExpr base = b.grid("block", (tail_size + lanes - 1) / lanes) * lanes;
  IndexExpr flat = base + b.begin_lanes(b.lane_extent(base, tail_size));
  std::vector<IndexExpr> at = delinearize(group.index, flat, tail);
  for (size_t i = 0; i < tail.size(); ++i) b.bind(space.vars[order[outer + i]], at[i]);

  std::vector<Operand> results;
  if (anchor) {
    uint32_t buffer = 0;
    if (anchor->buffer)
      buffer =
          b.add_buffer(anchor->buffer_type.dtype, Access::kRead, anchor->buffer_type.size_bytes());
    results = anchor->results(group, kernel, buffer);
    kernel.emitter.stored = anchor->value;
    kernel.emitter.anchor_value = [&results](Value v) { return results[v.result]; };
  }
  for (size_t i = 0; i < group.region.outputs().size(); ++i) kernel.store_output(i, std::nullopt);
  b.end();
  TUFF_ASSIGN(LoweredStep step, kernel.finish());
  if (anchor && anchor->buffer)
    step.bindings.insert(step.bindings.begin() + static_cast<long>(group.region.outputs().size()),
                         *anchor->buffer);
  return step;
}

}  // namespace

PointAnchor stored_anchor(const GroupContext& group, GroupBuffer buffer, AnchorOrder order) {
  PointAnchor anchor{buffer, group.region.node(group.space.anchors[0]).types[0], {}, {}};
  anchor.results = [order](GroupContext& at, FamilyKernel& kernel, uint32_t b) {
    IndexExpr element =
        order == AnchorOrder::kSpace
            ? linearize(at.space.vars, at.space.dims)
            : linearize(at.space.outputs[0].index, at.region.type(at.region.outputs()[0]).shape);
    return std::vector<Operand>{kernel.builder.load(b, element, std::nullopt)};
  };
  return anchor;
}

Result<LoweredStep> lower_map(GroupContext& group, const PointAnchor* anchor) {
  const Shape& dims = group.space.dims;
  int64_t lanes = choose_map_schedule(group.caps, num_elements(dims)).lanes;
  std::vector<size_t> order = walking_order(group);
  std::optional<LoweredStep> flat;
  int64_t tail_size = num_elements(dims);
  for (size_t outer = 0; outer < std::max<size_t>(dims.size(), 1); ++outer) {
    // A short tail leaves lanes idle: better to divide.
    if (outer > 0) tail_size /= dims[order[outer - 1]];
    if (outer > 0 && tail_size * 4 < std::min<int64_t>(lanes, 64)) break;
    GroupContext fresh = group;
    TUFF_ASSIGN(LoweredStep step, build_map(fresh, order, outer, lanes, anchor));
    if (!divides_in_lanes(step.kernel->body, false)) return step;
    if (!flat) flat = std::move(step);
  }
  return std::move(*flat);
}

Result<LoweredGroup> lower_elementwise(GroupContext& group) {
  return one_step(lower_map(group, nullptr));
}

}  // namespace tuff
