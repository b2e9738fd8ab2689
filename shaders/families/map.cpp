// map: one lane per element, or per run of neighbours where words of them make up for it. The
// space's dimensions are split in two: outer ones are grid loops, the rest is one flat index over
// lanes. The flat part is as long as it can be without divisions in the lanes (a bias row read
// under a flattened matrix would need one per element).
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "ir/group/affine_access.h"
#include "shaders/families/family.h"
#include "shaders/kernel/kernel_walk.h"
#include "shaders/kernel/lane_divisions.h"
#include "shaders/schedule/schedule.h"
#include "shaders/schedule/schedule_rules.h"

namespace tuff {

namespace {

int64_t divisions_in_lanes(const Block& block, bool in_lanes) {
  int64_t count = 0;
  for (const Stmt& stmt : block) {
    count += in_lanes && stmt.kind == Stmt::Kind::kCompute && stmt.op == Op::kIndexDiv;
    count += divisions_in_lanes(stmt.body, in_lanes || stmt.kind == Stmt::Kind::kLane);
  }
  return count;
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

// How inputs lie in memory that operations of the space's own shape read, but one that is stored in
// their order already: strides by dimension.
std::vector<std::vector<int64_t>> input_strides(const GroupContext& group,
                                                std::optional<Value> stored) {
  std::vector<std::vector<int64_t>> found;
  auto keeps_elements = [&](uint32_t id) {
    return group.region.node(id).op != Op::kBitcastConvert;
  };
  for (const Node& node : group.region.nodes())
    for (Value v : node.operands) {
      if (is_view(node.op) || group.region.type(v).shape != group.space.dims || v == stored)
        continue;
      std::optional<AffineAccess> access = affine_access(group.region, v, keeps_elements);
      if (access && group.region.node(access->base).op == Op::kParameter)
        found.push_back(access->strides);
    }
  return found;
}

// How a map's space is shared out: the first `outer` dimensions of `order` are grid loops; of the
// rest, a line, each lane has a run of neighbours.
struct MapWalk {
  std::vector<size_t> order;
  size_t outer = 0;
  int64_t lanes = 64;
  MapRun run = {};
  int64_t piece = 1;         // of a run: so many elements are stored before the next are computed
  size_t innermost = kNone;  // of `order`: the outer dimension that is walked behind the blocks

  static constexpr size_t kNone = static_cast<size_t>(-1);

  Shape tail(const GroupSpace& space) const {
    Shape sizes;
    for (size_t i = outer; i < order.size(); ++i) sizes.push_back(space.dims[order[i]]);
    return sizes;
  }
};

// The outputs of a kernel under construction, around an anchor if there is one.
class MapStore {
 public:
  MapStore(GroupContext& group, FamilyKernel& kernel, const PointAnchor* anchor)
      : group_(group), kernel_(kernel), anchor_(anchor) {
    if (anchor == nullptr) return;
    if (anchor->buffer)
      buffer_ = kernel.builder.add_buffer(anchor->buffer_type.dtype, Access::kRead,
                                          anchor->buffer_type.size_bytes());
    kernel.emitter.stored = anchor->value;
    kernel.emitter.anchor_value = [this](Value v) { return results_[v.result]; };
  }

  // The element that the space's variables are bound to.
  void store_element() {
    if (anchor_) results_ = anchor_->results(group_, kernel_, buffer_);
    for (size_t i = 0; i < outputs(); ++i) kernel_.store_output(i, std::nullopt);
  }

  // Run number `number` of a line.
  void store_run(const MapWalk& walk, const IndexExpr& number) {
    tail_ = walk.tail(group_.space);
    const auto [run, unit] = walk.run;
    const int64_t line = num_elements(tail_);
    own_ = number * run;
    first_ = own_;
    if (line % run != 0)
      first_ = kernel_.builder.clamp_to(number * (run / unit), (line - run) / unit) * unit;
    std::vector<int64_t> per_word;
    for (size_t i = 0; i < outputs(); ++i) per_word.push_back(elements_of_word(walk, i));
    kernel_.emitter.run = unit;
    std::vector<std::vector<Operand>> results;
    if (anchor_ && anchor_->results_of_run)
      results = anchor_->results_of_run(group_, kernel_, run, [&](int64_t e) { bind(walk, e); });
    for (int64_t begin = 0; begin < run; begin += walk.piece)
      store_piece(walk, begin, per_word, results);
    kernel_.emitter.run = 1;
  }

  Result<LoweredStep> finish() {
    TUFF_ASSIGN(LoweredStep step, kernel_.finish());
    if (anchor_ && anchor_->buffer)
      step.bindings.insert(step.bindings.begin() + static_cast<long>(outputs()), *anchor_->buffer);
    return step;
  }

 private:
  size_t outputs() const { return group_.region.outputs().size(); }

  void bind(const MapWalk& walk, int64_t e) {
    IndexVector at = delinearize(group_.index, first_ + e, tail_);
    for (size_t i = 0; i < tail_.size(); ++i)
      kernel_.builder.bind(group_.space.vars[walk.order[walk.outer + i]], at[i]);
    kernel_.emitter.forget();
  }

  int64_t elements_of_word(const MapWalk& walk, size_t output) {
    std::vector<IndexExpr> places;
    for (int64_t e = 0; e < walk.run.run; ++e) {
      bind(walk, e);
      places.push_back(kernel_.builder.resolve(kernel_.output_place(output)));
    }
    const TensorType& type = group_.region.type(group_.region.outputs()[output]);
    return tuff::elements_of_word(kernel_.builder, type, places, walk.run.unit);
  }

  // The part of a run that begins there, but what is another lane's.
  void store_piece(const MapWalk& walk, int64_t begin, const std::vector<int64_t>& per_word,
                   const std::vector<std::vector<Operand>>& results) {
    std::optional<Operand> guard;
    if (!(first_ == own_))
      guard = kernel_.builder.all_of({IndexCondition{first_ + begin - own_}}, std::nullopt);
    std::vector<std::vector<StoredElement>> elements(outputs());
    for (int64_t e = begin; e < begin + walk.piece; ++e) {
      bind(walk, e);
      if (anchor_)
        results_ = results.empty() ? anchor_->results(group_, kernel_, buffer_)
                                   : results[static_cast<size_t>(e)];
      for (size_t i = 0; i < outputs(); ++i) {
        elements[i].push_back(kernel_.output_element(i));
        elements[i].back().place = kernel_.builder.resolve(elements[i].back().place);
      }
    }
    for (size_t i = 0; i < outputs(); ++i)
      store_words(kernel_.builder, static_cast<uint32_t>(i), elements[i], per_word[i], guard);
  }

  GroupContext& group_;
  FamilyKernel& kernel_;
  const PointAnchor* anchor_;
  uint32_t buffer_ = 0;           // the anchor's
  std::vector<Operand> results_;  // of the anchor, at the element that is stored
  Shape tail_;
  IndexExpr own_, first_;  // where the lane's part of the line begins, and what it computes
};

Result<LoweredStep> build_map(GroupContext& group, const MapWalk& walk, const PointAnchor* anchor) {
  const GroupSpace& space = group.space;
  auto [order, outer, lanes, run, piece, innermost] = walk;
  Shape tail = walk.tail(space);
  const int64_t units = ceil_div(num_elements(tail), run.run);
  FamilyKernel kernel(group, lanes);
  KernelBuilder& b = kernel.builder;
  auto walk_outer = [&, &order = order](size_t i) {
    b.bind(space.vars[order[i]], b.grid("d" + std::to_string(i), space.dims[order[i]]));
  };
  for (size_t i = 0; i < outer; ++i)
    if (i != innermost) walk_outer(i);
  IndexExpr base = b.grid("block", (units + lanes - 1) / lanes) * lanes;
  if (innermost != MapWalk::kNone) walk_outer(innermost);
  IndexExpr flat = base + b.begin_lanes(b.lane_extent(base, units));
  MapStore store(group, kernel, anchor);
  if (run.run > 1) {
    store.store_run(walk, flat);
  } else {
    std::vector<IndexExpr> at = delinearize(group.index, flat, tail);
    for (size_t i = 0; i < tail.size(); ++i) b.bind(space.vars[order[outer + i]], at[i]);
    store.store_element();
  }
  b.end();
  return store.finish();
}

// Loads and stores of a lane, and what it computes.
struct Work {
  int64_t loads = 0, word_loads = 0, stores = 0, computes = 0, loops = 0;
};
Work work_of(const Kernel& kernel) {
  Work work;
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    work.loads += stmt.kind == Stmt::Kind::kLoad;
    work.word_loads += stmt.kind == Stmt::Kind::kLoadWord;
    work.stores += stmt.kind == Stmt::Kind::kStore;
    work.loops += stmt.kind == Stmt::Kind::kSerial || stmt.kind == Stmt::Kind::kWhile;
    work.computes += stmt.kind == Stmt::Kind::kCompute || stmt.kind == Stmt::Kind::kConvert;
  });
  return work;
}

bool is_software(const Caps& caps) { return caps.device_class == DeviceClass::kSoftwareRasteriser; }

// The kernel with runs of neighbours. On GPUs where all that it stores and most that it loads
// become words, and no lane divides; on a software device, which takes long for a lane, wherever a
// run divides little.
std::optional<LoweredStep> with_runs(const GroupContext& group, MapWalk walk,
                                     const PointAnchor* anchor, const LoweredStep& single) {
  constexpr int64_t kWordBytes = 16, kElementsPerDivision = 4, kMostComputes = 512;
  const bool software = is_software(group.caps);
  const Shape tail = walk.tail(group.space);
  Work before = work_of(*single.kernel);
  if (anchor && (!software || (before.loops > 0 && !anchor->results_of_run))) return std::nullopt;
  MapWork work{num_elements(group.space.dims), num_elements(tail)};
  for (int64_t size : tail)
    if (size > 1) work.inner = size;
  work.bytes = 8;
  for (const BufferDecl& buffer : single.kernel->buffers)
    work.bytes = std::min(work.bytes, dtype_size(buffer.dtype));
  work.operations = before.computes;
  for (const MapRun& run : map_runs(group.caps, work)) {
    walk.run = run;
    walk.piece = software ? std::gcd(run.unit, kWordBytes / work.bytes) : run.run;
    if (software) walk.lanes = choose_map_schedule(group.caps, work.elements / run.run).lanes;
    GroupContext fresh = group;
    Result<LoweredStep> step = build_map(fresh, walk, anchor);
    if (!step.ok()) continue;
    const int64_t divisions = divisions_in_lanes(step->kernel->body, false);
    Work after = work_of(*step->kernel);
    bool words = after.stores == 0 && after.loads <= before.loads;
    const bool divides_little = before.loops > 0 || divisions * kElementsPerDivision <= run.run;
    const bool light = divides_little && after.computes <= kMostComputes;
    if (software ? light : words && divisions == 0) return std::move(*step);
  }
  return std::nullopt;
}

}  // namespace

PointAnchor stored_anchor(const GroupContext& group, GroupBuffer buffer, AnchorOrder order) {
  PointAnchor anchor{buffer, {}, {}, {}};
  if (!group.space.anchors.empty())
    anchor.buffer_type = group.region.node(group.space.anchors[0]).types[0];
  anchor.results = [order](GroupContext& at, FamilyKernel& kernel, uint32_t b) {
    IndexExpr element =
        order == AnchorOrder::kSpace
            ? linearize(at.space.vars, at.space.dims)
            : linearize(at.space.outputs[0].index, at.region.type(at.region.outputs()[0]).shape);
    return std::vector<Operand>{kernel.builder.load(b, element, std::nullopt)};
  };
  return anchor;
}

namespace {

// Lanes that read elements rows apart find their neighbours in the same cache lines: on our CPU
// executor the dimension in which these lie is walked next.
size_t innermost_outer(const GroupContext& group, const MapWalk& walk,
                       const std::vector<std::vector<int64_t>>& inputs) {
  constexpr int64_t kFarApart = 8;
  const Shape& dims = group.space.dims;
  size_t last = walk.order.size();
  while (last > walk.outer && dims[walk.order[last - 1]] == 1) --last;
  if (last == walk.outer) return MapWalk::kNone;
  for (const std::vector<int64_t>& strides : inputs) {
    if (std::abs(strides[walk.order[last - 1]]) < kFarApart) continue;
    for (size_t i = 0; i < walk.outer; ++i)
      if (strides[walk.order[i]] == 1 && dims[walk.order[i]] > 1) return i;
  }
  return MapWalk::kNone;
}

// A map in the order that its dimensions are walked in: with as long a flat part as does not divide
// in lanes. Nothing where all do; `flat` is then the first of them.
Result<std::optional<LoweredStep>> map_without_divisions(
    const GroupContext& group, const PointAnchor* anchor, const std::vector<size_t>& order,
    const std::vector<std::vector<int64_t>>& inputs, std::optional<LoweredStep>& flat) {
  const Shape& dims = group.space.dims;
  int64_t lanes = choose_map_schedule(group.caps, num_elements(dims)).lanes;
  int64_t tail_size = num_elements(dims);
  for (size_t outer = 0; outer < std::max<size_t>(dims.size(), 1); ++outer) {
    // A short tail leaves lanes idle: better to divide.
    if (outer > 0) tail_size /= dims[order[outer - 1]];
    if (outer > 0 && tail_size * 4 < std::min<int64_t>(lanes, 64)) break;
    GroupContext fresh = group;
    MapWalk walk{order, outer, lanes};
    walk.innermost = innermost_outer(group, walk, inputs);
    TUFF_ASSIGN(LoweredStep step, build_map(fresh, walk, anchor));
    const bool divides = divisions_in_lanes(step.kernel->body, false) > 0;
    std::optional<LoweredStep> runs;
    if (!divides || is_software(group.caps)) runs = with_runs(group, walk, anchor, step);
    if (runs) return runs;
    if (!divides) return std::optional(std::move(step));
    if (!flat) flat = std::move(step);
  }
  return std::optional<LoweredStep>();
}

// The same with as few divisions as there are, where our CPU executor's code needs none of them in
// vectors: lanes begin at multiples of what is divided by. Nothing where some divisor is too large.
Result<std::optional<LoweredStep>> map_with_known_divisions(const GroupContext& group,
                                                            const PointAnchor* anchor,
                                                            const std::vector<size_t>& order) {
  std::optional<LoweredStep> best;
  if (!becomes_native(group.caps, group.region)) return best;
  const Shape& dims = group.space.dims;
  const int64_t lanes = choose_map_schedule(group.caps, num_elements(dims)).lanes;
  int64_t tail_size = num_elements(dims);
  LaneDivisions fewest;
  MapWalk chosen;
  for (size_t outer = 0; outer < dims.size() && tail_size * 4 >= lanes; ++outer) {
    GroupContext fresh = group;
    MapWalk walk{order, outer, lanes};
    TUFF_ASSIGN(LoweredStep step, build_map(fresh, walk, anchor));
    const LaneDivisions found = lane_divisions(*step.kernel, step.params);
    if (found.together > 0 && (!best || found.count < fewest.count))
      best = std::move(step), fewest = found, chosen = walk;
    tail_size /= dims[order[outer]];
  }
  if (!best || fewest.together == 1) return best;
  // As many as make groups of one size, where that is not too few.
  const int64_t together = fewest.together * group.caps.native_lanes;
  const int64_t most = std::max(lanes / together, int64_t{1});
  const int64_t parts = num_elements(chosen.tail(group.space)) / together;
  chosen.lanes = divisor_or(parts, (most + 1) / 2, most) * together;
  GroupContext fresh = group;
  TUFF_ASSIGN(best, build_map(fresh, chosen, anchor));
  return best;
}

// The space's dimensions as an input has them in memory.
std::vector<size_t> order_of(const std::vector<int64_t>& strides) {
  std::vector<size_t> order(strides.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  return order;
}

}  // namespace

Result<LoweredStep> lower_map(GroupContext& group, const PointAnchor* anchor) {
  std::vector<std::vector<int64_t>> inputs;
  if (group.caps.device_class == DeviceClass::kCpu)
    inputs = input_strides(group, anchor ? anchor->value : std::nullopt);
  std::vector<std::vector<size_t>> orders{walking_order(group)};
  // Few channels that become the innermost dimension: better to walk what is read in its order.
  for (const std::vector<int64_t>& strides : inputs) orders.push_back(order_of(strides));
  std::optional<LoweredStep> flat;
  for (const std::vector<size_t>& order : orders) {
    TUFF_ASSIGN(std::optional<LoweredStep> step,
                map_without_divisions(group, anchor, order, inputs, flat));
    if (step) return std::move(*step);
    if (&order != &orders.front()) continue;
    TUFF_ASSIGN(step, map_with_known_divisions(group, anchor, order));
    if (step) return std::move(*step);
  }
  return std::move(*flat);
}

Result<LoweredGroup> lower_elementwise(GroupContext& group) {
  return one_step(lower_map(group, nullptr));
}

}  // namespace tuff
