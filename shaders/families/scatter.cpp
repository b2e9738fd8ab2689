// scatter, deterministic without atomics. Few index vectors per result element: a
// lane owns the element and looks at each of them, in order; its input and what
// follows are fused. Many: the input is copied. Then each lane owns a part of the
// result that no other lane can hit (the window's dimensions that no index moves)
// and applies the updates there in order. Where the program says that no two updates
// meet, each has a lane of its own; for GPUs the pass decompose sees to that where
// updates are many. A device with library calls has one for updates that are rows
// side by side. What follows is a kernel of its own.
#include "ir/ops/scatter.h"

#include <algorithm>
#include <span>

#include "shaders/families/family.h"
#include "shaders/families/fold.h"
#include "shaders/families/reducer.h"
#include "shaders/families/scatter_kernel.h"
#include "shaders/families/scatter_rows.h"
#include "shaders/schedule/schedule.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

using Kind = IndexCondition::Kind;

// Index vectors an element's owner looks at; beyond, updates go to the elements.
constexpr int64_t kMaxOwnerSteps = 64;

// Owner: the state after the index vector at `free`.
std::vector<Operand> apply_at(GroupContext& group, FamilyKernel& kernel, const Node& node,
                              const ScatterDims& s, const IndexVector& free,
                              const std::vector<Operand>& state) {
  KernelBuilder& b = kernel.builder;
  const IndexVector& vars = group.space.vars;
  IndexVector batch = s.batch_index(free, vars), window(s.dims.size());
  std::vector<IndexCondition> inside;
  for (size_t d = 0; d < s.dims.size(); ++d) {
    if (s.dims[d].batch >= 0) continue;
    window[d] = vars[d] - start_of(kernel.emitter, node, s, s.dims[d], batch);
    inside.push_back({window[d], Kind::kNonNegative});
    inside.push_back({IndexExpr(s.dims[d].window - 1) - window[d], Kind::kNonNegative});
  }
  std::optional<Operand> hit = b.all_of(inside, std::nullopt);
  size_t n = state.size();
  std::vector<Operand> updates;
  for (size_t r = 0; r < n; ++r)
    updates.push_back(
        kernel.emitter.emit(node.operands[n + 1 + r], update_index(s, batch, window), hit));
  std::vector<Operand> next = emit_reducer(b, node, state, updates);
  for (size_t r = 0; hit && r < n; ++r)
    next[r] = b.compute(Op::kSelect, next[r].dtype, {*hit, next[r], state[r]});
  return next;
}

Result<LoweredGroup> lower_by_owner(GroupContext& group, const Node& node, const ScatterDims& s) {
  PointAnchor anchor;
  anchor.results = [&](GroupContext& at, FamilyKernel& kernel, uint32_t) {
    std::vector<Operand> state;
    for (size_t r = 0; r < node.types.size(); ++r)
      state.push_back(kernel.emitter.emit(node.operands[r], at.space.vars));
    if (at.region.type(node.operands.back()).num_elements() == 0) return state;
    return emit_fold(kernel.builder, s.free_batch(), at.caps.max_loop_iterations, std::move(state),
                     [&](const IndexVector& free, const std::vector<Operand>& before) {
                       return apply_at(at, kernel, node, s, free, before);
                     });
  };
  LoweredGroup lowered;
  TUFF_ASSIGN(LoweredStep step, lower_map(group, &anchor));
  lowered.steps.push_back(std::move(step));
  return lowered;
}

// Writes the scatter's result, with a lane for each of so many runs.
ScatterKernel result_kernel(GroupContext& group, int64_t runs, Access access) {
  const TensorType& type = group.region.node(group.space.anchors[0]).types[0];
  return ScatterKernel(group, choose_map_schedule(group.caps, runs).lanes, type.dtype, access,
                       type.size_bytes());
}

// Neighbours of the last dimension that a lane owns, of elements of so many bytes.
int64_t run_of(const GroupContext& group, const Shape& shape, DType dtype) {
  const int64_t line = shape.empty() ? 1 : shape.back();
  return choose_own_run(group.caps, num_elements(shape), line, dtype_size(dtype));
}

Result<LoweredStep> copy_input(GroupContext group, const Node& node, GroupBuffer c) {
  const TensorType& type = node.types[0];
  const int64_t run = run_of(group, type.shape, type.dtype);
  ScatterKernel kernel = result_kernel(group, type.num_elements() / run, Access::kWrite);
  std::vector<StoredElement> elements;
  for (const IndexVector& at : kernel.own(group.index, type.shape, run))
    elements.push_back({linearize(at, type.shape), kernel.emitter.emit(node.operands[0], at)});
  store_run(kernel.builder, 0, type, elements);
  kernel.builder.end();
  return kernel.finish(c);
}

// Updates [first, first + count) of every lane: lanes walk the index vectors and the
// window's moved dimensions, in row-major order.
class UpdateWriter {
 public:
  UpdateWriter(GroupContext group, const Node& node, const ScatterDims& s)
      : group_(std::move(group)), node_(node), s_(s) {
    walked_ = s.free_batch();
    for (const ScatterDims::Dim& dim : s.dims) {
      if (dim.component >= 0) walked_.push_back(dim.window);
      owned_.push_back(dim.batch >= 0 ? dim.size : dim.component >= 0 ? 1 : dim.window);
    }
  }

  int64_t steps() const { return num_elements(walked_); }

  // All updates at once: no two of them hit one element. Those of one window are neighbours.
  Result<LoweredStep> lower_unique(GroupBuffer c) {
    Shape updates = walked_;
    updates.insert(updates.end(), owned_.begin(), owned_.end());
    while (updates.size() > 1 && updates.back() == 1) updates.pop_back();
    const int64_t run = run_of(group_, updates, node_.types[0].dtype);
    ScatterKernel kernel = result_kernel(group_, num_elements(updates) / run, Access::kReadWrite);
    std::vector<Place> places;
    for (IndexVector at : kernel.own(group_.index, updates, run)) {
      at.resize(walked_.size() + owned_.size(), IndexExpr(0));
      auto split = at.begin() + static_cast<long>(walked_.size());
      places.push_back({IndexVector(split, at.end()), IndexVector(at.begin(), split)});
    }
    apply(kernel, places);
    kernel.builder.end();
    return kernel.finish(c);
  }

  Result<LoweredStep> lower(int64_t first, int64_t count, GroupBuffer c) {
    const int64_t run =
        choose_walking_run(group_.caps, num_elements(owned_), owned_.empty() ? 1 : owned_.back());
    ScatterKernel kernel = result_kernel(group_, num_elements(owned_) / run, Access::kReadWrite);
    std::vector<IndexVector> owned = kernel.own(group_.index, owned_, run);
    IndexExpr step = kernel.builder.begin_serial("u", count) + first;
    std::vector<Place> places;
    for (IndexVector& at : owned)
      places.push_back({std::move(at), delinearize(group_.index, step, walked_)});
    apply(kernel, places);
    kernel.builder.end();
    kernel.builder.end();
    return kernel.finish(c);
  }

 private:
  // Of an update: the parts of the result that the lane owns, and what is walked.
  struct Place {
    IndexVector owned, walked;
  };
  struct Update {
    StoredElement element;
    std::optional<Operand> hit;
  };

  // None of the places is another's.
  void apply(ScatterKernel& kernel, const std::vector<Place>& places) {
    KernelBuilder& b = kernel.builder;
    std::vector<Update> updates;
    for (const Place& place : places) updates.push_back(update_at(kernel, place));
    const bool together = !reads_old() && std::all_of(updates.begin(), updates.end(), [&](auto& u) {
      return u.hit == updates[0].hit;
    });
    std::vector<StoredElement> elements;
    for (Update& u : updates) {
      Operand old = reads_old() ? b.load_now(0, u.element.place, u.hit) : u.element.value;
      u.element.value = emit_reducer(b, node_, {old}, {u.element.value})[0];
      if (!together) b.store(0, u.element.place, u.element.value, u.hit);
      elements.push_back(u.element);
    }
    if (together) store_run(b, 0, node_.types[0], elements, updates[0].hit);
  }

  Update update_at(ScatterKernel& kernel, const Place& place) {
    KernelBuilder& b = kernel.builder;
    IndexVector batch = s_.batch_index(place.walked, place.owned), window(place.owned.size()),
                target(place.owned.size());
    std::vector<IndexCondition> inside;
    size_t moved = s_.free_batch().size();
    for (size_t d = 0; d < place.owned.size(); ++d) {
      const ScatterDims::Dim& dim = s_.dims[d];
      window[d] = dim.component >= 0 ? place.walked[moved++] : place.owned[d];
      target[d] = start_of(kernel.emitter, node_, s_, dim, batch) + window[d];
      inside.push_back({target[d], Kind::kNonNegative});
      inside.push_back({IndexExpr(dim.size - 1) - target[d], Kind::kNonNegative});
    }
    std::optional<Operand> hit = b.all_of(inside, std::nullopt);
    Operand value = kernel.emitter.emit(node_.operands[2], update_index(s_, batch, window), hit);
    return {{linearize(target, group_.space.dims), value}, hit};
  }

  // The body does more than to take the update.
  bool reads_old() const {
    const Graph& body = *node_.regions[0];
    constexpr uint32_t old = 0;  // parameters come first
    auto is_old = [](Value v) { return v.node == old; };
    return std::any_of(body.outputs().begin(), body.outputs().end(), is_old) ||
           std::any_of(body.nodes().begin(), body.nodes().end(), [&](const Node& node) {
             return std::any_of(node.operands.begin(), node.operands.end(), is_old);
           });
  }

  GroupContext group_;
  const Node& node_;
  const ScatterDims& s_;
  Shape walked_, owned_;
};

bool read_parameter(const Graph& region, std::span<const Value> values, uint32_t parameter) {
  std::vector<bool> reads(region.nodes().size());  // operands come first
  for (uint32_t id = 0; id < reads.size(); ++id) {
    const std::vector<Value>& operands = region.node(id).operands;
    reads[id] = id == parameter || std::any_of(operands.begin(), operands.end(),
                                               [&](Value v) { return reads[v.node]; });
  }
  return std::any_of(values.begin(), values.end(), [&](Value v) { return reads[v.node]; });
}

// The scatter is all the group does, to a value from outside that it reads nowhere else:
// where that one dies it is updated in its place.
bool updates_input(const GroupContext& group, const Node& node) {
  return result_is_output(group) && group.region.node(node.operands[0]).op == Op::kParameter &&
         !read_parameter(group.region, std::span(node.operands).subspan(1), node.operands[0].node);
}

Result<LoweredGroup> lower_by_update(GroupContext& group, const Node& node, const ScatterDims& s) {
  LoweredGroup lowered;
  bool in_place = result_is_output(group);
  GroupBuffer c{in_place ? GroupBuffer::Kind::kOutput : GroupBuffer::Kind::kScratch, 0};
  if (!in_place) lowered.scratch_bytes = c.size_bytes = storage_bytes(node.types[0], group.caps);
  if (updates_input(group, node)) {
    lowered.updates.push_back({0, node.operands[0].node});
  } else {
    TUFF_ASSIGN(LoweredStep copy, copy_input(group, node, c));
    lowered.steps.push_back(std::move(copy));
  }
  UpdateWriter writer(group, node, s);
  std::optional<RowScatter> rows = row_scatter(group, node, s);
  bool unique = node.attrs.as<ScatterAttrs>().unique_indices;
  if (rows) {
    TUFF_RETURN_IF_ERROR(rows->lower(c, lowered));
  } else if (unique) {
    TUFF_ASSIGN(LoweredStep step, writer.lower_unique(c));
    lowered.steps.push_back(std::move(step));
  }
  int64_t most = std::min<int64_t>(group.caps.max_loop_iterations - 1, 1 << 20);
  for (int64_t first = 0; !rows && !unique && first < writer.steps(); first += most) {
    TUFF_ASSIGN(LoweredStep step, writer.lower(first, std::min(most, writer.steps() - first), c));
    lowered.steps.push_back(std::move(step));
  }
  if (in_place) return lowered;
  PointAnchor anchor = stored_anchor(group, c);
  TUFF_ASSIGN(LoweredStep epilogue, lower_map(group, &anchor));
  lowered.steps.push_back(std::move(epilogue));
  return lowered;
}

}  // namespace

Result<LoweredGroup> lower_scatter(GroupContext& group) {
  const Node& node = group.region.node(group.space.anchors[0]);
  ScatterDims s = scatter_dims(group.region, node);
  bool no_updates = group.region.type(node.operands.back()).num_elements() == 0;
  // Few updates of a value that may be changed in its place touch little of it.
  bool few = num_elements(s.free_batch()) <= kMaxOwnerSteps;
  bool owner = few && !(updates_input(group, node) &&
                        UpdateWriter(group, node, s).steps() <= kMaxOwnerSteps);
  if (no_updates || owner || node.types.size() > 1) {
    TUFF_RETURN_IF_ERROR(check_fold(s.free_batch(), group.caps.max_loop_iterations, "A scatter"));
    return lower_by_owner(group, node, s);
  }
  return lower_by_update(group, node, s);
}

}  // namespace tuff
