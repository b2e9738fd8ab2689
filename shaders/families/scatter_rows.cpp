#include "shaders/families/scatter_rows.h"

#include <algorithm>

#include "ir/group/affine_access.h"
#include "ir/rewrite.h"
#include "shaders/families/reducer.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

using Kind = IndexCondition::Kind;

constexpr int64_t kAlignment = 64;  // of what lies in the scratch memory
// Targets are 32-bit numbers of rows.
constexpr int64_t kMaxElements = int64_t{1} << 30;

// A further part of the group's scratch memory.
GroupBuffer take_scratch(LoweredGroup& lowered, int64_t bytes) {
  GroupBuffer part{GroupBuffer::Kind::kScratch, 0};
  part.offset_bytes = (lowered.scratch_bytes + kAlignment - 1) / kAlignment * kAlignment;
  part.size_bytes = bytes;
  lowered.scratch_bytes = part.offset_bytes + bytes;
  return part;
}

// Whether the body is one of the call's; what it does then.
struct Body {
  bool known = false;
  std::optional<Op> op;
};
Body body_of(const Node& node) {
  const Graph& body = *node.regions[0];
  if (body.outputs().size() == 1 && body.outputs()[0] == Value{1, 0}) return {true, std::nullopt};
  std::optional<Op> op = single_op(body);
  bool known = op == Op::kAdd || op == Op::kMultiply || op == Op::kMaximum || op == Op::kMinimum;
  DType dtype = node.types[0].dtype;
  bool wide = dtype_size(dtype) >= 4;  // narrower ones are computed in others
  return {known && wide, op};
}

// The call's loops: dimensions before those that indices move are outer ones, those behind a row.
bool take_loops(const ScatterDims& dims, ScatterCall& call) {
  enum class Part { kOuter, kMoved, kRow } part = Part::kOuter;
  call.span = 1;
  for (const ScatterDims::Dim& dim : dims.dims) {
    if (dim.batch >= 0) return false;
    bool moved = dim.component >= 0;
    if (moved ? dim.window != 1 || part == Part::kRow : dim.window != dim.size) return false;
    if (!moved && dim.size == 1) continue;
    if (moved)
      part = Part::kMoved;
    else if (part == Part::kMoved)
      part = Part::kRow;
    (part == Part::kOuter ? call.outer : part == Part::kMoved ? call.span : call.width) *= dim.size;
  }
  return part != Part::kOuter;
}

}  // namespace

std::optional<RowScatter> row_scatter(const GroupContext& group, const Node& node,
                                      const ScatterDims& dims) {
  if (!group.caps.library_calls || node.types.size() != 1) return std::nullopt;
  ScatterCall call;
  Body body = body_of(node);
  call.op = body.op, call.dtype = node.types[0].dtype;
  bool fits = node.types[0].num_elements() <= kMaxElements;
  if (!body.known || !fits || !take_loops(dims, call)) return std::nullopt;
  call.count = num_elements(dims.free_batch());
  if (call.outer * call.count * call.width > kMaxElements) return std::nullopt;
  return RowScatter(group, node, dims, std::move(call));
}

// The row that each index vector names; for one outside, a number that is no row.
Result<LoweredStep> RowScatter::lower_targets(const GroupBuffer& to) const {
  GroupContext group = group_;
  Shape batch = dims_.free_batch();
  ScatterKernel kernel(group, choose_map_schedule(group.caps, call_.count).lanes, DType::kI32,
                       Access::kWrite, to.size_bytes);
  KernelBuilder& b = kernel.builder;
  IndexVector at = kernel.own(group.index, batch)[0];
  IndexExpr row = 0;
  std::vector<IndexCondition> inside;
  auto moved = [](const ScatterDims::Dim& dim) { return dim.component >= 0; };
  bool alone = std::count_if(dims_.dims.begin(), dims_.dims.end(), moved) == 1;
  for (const ScatterDims::Dim& dim : dims_.dims) {
    if (!moved(dim)) continue;
    IndexExpr start = start_of(kernel.emitter, node_, dims_, dim, dims_.batch_index(at, {}));
    row = row * dim.size + start;
    if (alone) continue;  // the call leaves out what is outside
    inside.push_back({start, Kind::kNonNegative});
    inside.push_back({IndexExpr(dim.size - 1) - start, Kind::kNonNegative});
  }
  Operand target = b.index(row);
  if (std::optional<Operand> hit = b.all_of(inside, std::nullopt))
    target = b.compute(Op::kSelect, DType::kI32, {*hit, target, Operand::i32(-1)});
  b.store(0, linearize(at, batch), target, std::nullopt);
  b.end();
  return kernel.finish(to);
}

// The updates in the call's order.
Result<LoweredStep> RowScatter::lower_updates(const GroupBuffer& to) const {
  GroupContext group = group_;
  Shape batch = dims_.free_batch(), order;
  if (call_.alike) batch.assign(batch.size(), 1);
  std::vector<size_t> outer, row;  // dimensions of the result
  size_t moved = 0;
  while (dims_.dims[moved].component < 0) ++moved;
  for (size_t d = 0; d < dims_.dims.size(); ++d)
    if (dims_.dims[d].component < 0) (d < moved ? outer : row).push_back(d);
  for (size_t d : outer) order.push_back(dims_.dims[d].window);
  order.insert(order.end(), batch.begin(), batch.end());
  for (size_t d : row) order.push_back(dims_.dims[d].window);
  ScatterKernel kernel(group, choose_map_schedule(group.caps, num_elements(order)).lanes,
                       call_.dtype, Access::kWrite, to.size_bytes);
  IndexVector at = kernel.own(group.index, order)[0], window(dims_.dims.size(), IndexExpr(0));
  auto next = at.begin();
  for (size_t d : outer) window[d] = *next++;
  IndexVector free(next, next + static_cast<long>(batch.size()));
  next += static_cast<long>(batch.size());
  for (size_t d : row) window[d] = *next++;
  IndexVector where = update_index(dims_, dims_.batch_index(free, {}), window);
  kernel.builder.store(0, linearize(at, order), kernel.emitter.emit(node_.operands[2], where),
                       std::nullopt);
  kernel.builder.end();
  return kernel.finish(to);
}

std::optional<uint32_t> RowScatter::updates_parameter() const {
  const Graph& region = group_.region;
  Value updates = through_reshapes(region, node_.operands[2]);
  const Shape& shape = region.type(node_.operands[2]).shape;
  if (call_.outer != 1 || region.node(updates).op != Op::kParameter) return std::nullopt;
  // Batch dimensions in order, then those of the row: sizes of 1 lie anywhere.
  std::vector<int64_t> order = dims_.batch_update_dims;
  for (const ScatterDims::Dim& dim : dims_.dims)
    if (dim.update_dim >= 0) order.push_back(dim.update_dim);
  std::erase_if(order, [&](int64_t d) { return shape[static_cast<size_t>(d)] == 1; });
  if (!std::is_sorted(order.begin(), order.end())) return std::nullopt;
  return updates.node;
}

Status RowScatter::lower(GroupBuffer c, LoweredGroup& lowered) {
  GroupBuffer targets = take_scratch(lowered, call_.count * dtype_size(DType::kI32));
  TUFF_ASSIGN(LoweredStep find, lower_targets(targets));
  lowered.steps.push_back(std::move(find));
  GroupBuffer updates;
  if (std::optional<uint32_t> parameter = updates_parameter()) {
    updates = {GroupBuffer::Kind::kInput, *parameter};
  } else {
    call_.alike = call_.outer == 1 && call_.width == 1 &&
                  splat_value(group_.region, node_.operands[2]) != nullptr;
    const int64_t count = call_.alike ? 1 : call_.outer * call_.count * call_.width;
    updates = take_scratch(lowered, count * dtype_size(call_.dtype));
    TUFF_ASSIGN(LoweredStep compute, lower_updates(updates));
    lowered.steps.push_back(std::move(compute));
  }
  LoweredStep step;
  step.bindings = {targets, updates, c};
  step.call = std::move(call_);
  lowered.steps.push_back(std::move(step));
  return {};
}

}  // namespace tuff
