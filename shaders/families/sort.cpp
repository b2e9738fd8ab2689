// sort and top_k make the permutation of each row, then read the inputs through it, so
// that what follows is fused into the last kernel's store.
//
// An element's place is the number of elements that come before it. In short rows, and
// in blocks of long ones, a lane counts them, looking at all. Sorted blocks are merged
// two by two: a lane finds by bisection how many of the other block come before its
// element. That is O(n log^2 n) for a row, every element on a lane of its own, nothing
// written twice; passes alternate between two halves of one scratch buffer. Equal
// elements keep their order.
//
// Devices that run C++ find the first elements of a top_k by a call, and sort by one what is
// compared by keys: from the last key on, each time without changing the order of equal ones.
#include <algorithm>

#include "ir/group/affine_access.h"
#include "ir/ops/sort_keys.h"
#include "shaders/families/family.h"
#include "shaders/families/fold.h"
#include "shaders/families/reducer.h"
#include "shaders/schedule/schedule.h"

namespace tuff {

namespace {

constexpr int64_t kShortRow = 64;      // no longer rows are sorted by counting alone
constexpr int64_t kBlock = 32;         // sorted by counting before the merges
constexpr int64_t kRowAlignment = 64;  // of what lies in the scratch memory

class Sorter {
 public:
  Sorter(GroupContext& group, const Node& node)
      : group_(group), node_(node), shape_(group.region.type(node.operands[0]).shape) {
    int64_t d = node.op == Op::kTopK ? -1 : node.attrs.as<SortAttrs>().dimension;
    dim_ = static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(shape_.size()) : d);
    if (node.op == Op::kSort && group.caps.library_calls) keys_ = sort_keys(*node.regions[0]);
  }

  TensorType order_type() const {
    return {DType::kI32, {merges() ? 2 : 1, num_elements(order_shape())}};
  }

  // The steps that fill `order`, a part of the scratch memory; afterwards the permutation is that
  // of sorted().
  Status make_order(GroupBuffer order, LoweredGroup& lowered) {
    std::vector<LoweredStep>& steps = lowered.steps;
    if (selects()) return select(order, lowered);
    if (keys_) return sort_by_keys(order, lowered);
    TUFF_ASSIGN(LoweredStep rank, rank_blocks(merges() ? kBlock : length(), order));
    steps.push_back(std::move(rank));
    for (int64_t run = kBlock; merges() && run < length(); run *= 2) {
      TUFF_ASSIGN(LoweredStep merge, merge_runs(run, order));
      steps.push_back(std::move(merge));
      in_second_ = !in_second_;
    }
    return {};
  }

  // The results at the space's point, through the permutation.
  std::vector<Operand> sorted(GroupContext& group, FamilyKernel& kernel, uint32_t order) const {
    KernelBuilder& b = kernel.builder;
    IndexVector at = group.space.vars;
    // A comparator that is no order leaves places unwritten; reads stay in range.
    Operand source = b.load(order, linearize(at, order_shape()) + offset(in_second_), std::nullopt);
    source = clamp_to_row(b, source);
    at[dim_] = b.symbol_for(source, 0, length() - 1);
    std::vector<Operand> results;
    for (Value input : node_.operands) results.push_back(kernel.emitter.emit(input, at));
    if (node_.op == Op::kTopK) results.push_back(b.convert(source, node_.types[1].dtype));
    return results;
  }

 private:
  bool selects() const { return node_.op == Op::kTopK && group_.caps.library_calls; }
  bool merges() const { return length() > kShortRow && !selects() && !keys_; }
  // A call leaves as much of the permutation as is read.
  const Shape& order_shape() const { return selects() ? node_.types[0].shape : shape_; }
  int64_t length() const { return shape_[dim_]; }
  int64_t total() const { return num_elements(shape_); }
  int64_t offset(bool second) const { return second ? total() : 0; }

  static Operand int_op(KernelBuilder& b, Op op, const Operand& x, const Operand& y) {
    return b.compute(op, DType::kI32, {x, y});
  }
  Operand clamp_to_row(KernelBuilder& b, const Operand& position) const {
    return b.compute(Op::kClamp, DType::kI32, {Operand::i32(0), position, b.size(length() - 1)});
  }

  // One kernel over all elements, each on its own lane; it stores into `order` the
  // lane's source, and where in the row that belongs.
  struct Placed {
    Operand source, position;
    bool second = false;  // half of the buffer
  };
  template <typename Place>
  Result<LoweredStep> lower_pass(GroupBuffer order, Access access, const Place& place) {
    GroupContext group = group_;
    int64_t lanes = choose_map_schedule(group.caps, total()).lanes;
    KernelBuilder b("sort", lanes, group.index, group.caps);
    ValueEmitter emitter(group.region, group.index, b);
    uint32_t buffer = b.add_buffer(DType::kI32, access, order_type().size_bytes());
    IndexExpr base = b.grid("block", (total() + lanes - 1) / lanes) * lanes;
    IndexVector own =
        delinearize(group.index, base + b.begin_lanes(b.lane_extent(base, total())), shape_);
    Placed placed = place(group, b, emitter, own);
    IndexVector target = own;
    target[dim_] = b.symbol_for(placed.position, 0, length() - 1);
    b.store(buffer, linearize(target, shape_) + offset(placed.second), placed.source, std::nullopt);
    b.end();
    return finish_step(b, emitter, {order});
  }

  Status select(GroupBuffer order, LoweredGroup& lowered) {
    const TensorType& type = group_.region.type(node_.operands[0]);
    std::optional<GroupBuffer> rows = input_of(node_.operands[0]);
    if (!rows) {
      rows = add_scratch(type.size_bytes(), lowered);
      auto itself = [&](KernelBuilder&, ValueEmitter& emitter, const IndexVector& at) {
        return emitter.emit(node_.operands[0], at);
      };
      TUFF_ASSIGN(LoweredStep compute, compute_rows(type.dtype, *rows, itself));
      lowered.steps.push_back(std::move(compute));
    }
    LoweredStep step;
    step.call = TopKCall{type.dtype, total() / length(), length(), node_.types[0].shape.back()};
    step.bindings = {*rows, order};
    lowered.steps.push_back(std::move(step));
    return {};
  }

  // Where the value lies in memory, its elements in their order, if it does.
  std::optional<GroupBuffer> input_of(Value v) const {
    const Value base = through_reshapes(group_.region, v);
    if (group_.region.node(base).op != Op::kParameter) return std::nullopt;
    return GroupBuffer{GroupBuffer::Kind::kInput, base.node};
  }

  static GroupBuffer add_scratch(int64_t bytes, LoweredGroup& lowered) {
    GroupBuffer buffer{GroupBuffer::Kind::kScratch, 0};
    buffer.offset_bytes =
        (lowered.scratch_bytes + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
    buffer.size_bytes = bytes;
    lowered.scratch_bytes = buffer.offset_bytes + bytes;
    return buffer;
  }

  // What a call reads of each element, row by row.
  template <typename Emit>
  Result<LoweredStep> compute_rows(DType dtype, GroupBuffer to, const Emit& emit) {
    GroupContext group = group_;
    int64_t lanes = choose_map_schedule(group.caps, total()).lanes;
    KernelBuilder b("sort", lanes, group.index, group.caps);
    ValueEmitter emitter(group.region, group.index, b);
    uint32_t buffer = b.add_buffer(dtype, Access::kWrite, total() * dtype_size(dtype));
    IndexExpr base = b.grid("block", (total() + lanes - 1) / lanes) * lanes;
    IndexExpr element = base + b.begin_lanes(b.lane_extent(base, total()));
    Shape sizes = shape_;
    std::rotate(sizes.begin() + static_cast<int64_t>(dim_),
                sizes.begin() + static_cast<int64_t>(dim_) + 1, sizes.end());
    IndexVector own = delinearize(group.index, element, sizes);
    std::rotate(own.begin() + static_cast<int64_t>(dim_), own.end() - 1, own.end());
    b.store(buffer, element, emit(b, emitter, own), std::nullopt);
    b.end();
    return finish_step(b, emitter, {to});
  }

  int64_t inner() const {
    return num_elements(Shape(shape_.begin() + static_cast<int64_t>(dim_) + 1, shape_.end()));
  }

  Status sort_by_keys(GroupBuffer order, LoweredGroup& lowered) {
    if (total() == 0) return {};
    int64_t bytes = 0;
    for (const SortKey& key : *keys_) bytes = std::max(bytes, total() * dtype_size(dtype_of(key)));
    std::optional<GroupBuffer> room;
    for (size_t i = keys_->size(); i-- > 0;) {
      const SortKey& key = (*keys_)[i];
      std::optional<GroupBuffer> rows = rows_of(key);
      if (!rows) {
        if (!room) room = add_scratch(bytes, lowered);
        rows = room;
        auto emit = [&](KernelBuilder& b, ValueEmitter& emitter, const IndexVector& at) {
          std::vector<Operand> elements;
          for (Value input : node_.operands) elements.push_back(emitter.emit(input, at));
          return emit_region(b, key.graph, elements)[0];
        };
        TUFF_ASSIGN(LoweredStep compute, compute_rows(dtype_of(key), *rows, emit));
        lowered.steps.push_back(std::move(compute));
      }
      LoweredStep step;
      step.call = SortCall{dtype_of(key), total() / length(), length(),
                           inner(),       key.descending,     i + 1 < keys_->size()};
      step.bindings = {*rows, order};
      lowered.steps.push_back(std::move(step));
    }
    return {};
  }

  static DType dtype_of(const SortKey& key) { return key.graph.type(key.graph.outputs()[0]).dtype; }
  // A key that is an input, and lies there row by row.
  std::optional<GroupBuffer> rows_of(const SortKey& key) const {
    const Value output = key.graph.outputs()[0];
    if (key.graph.node(output).op != Op::kParameter || inner() != 1) return std::nullopt;
    return input_of(node_.operands[output.node]);
  }

  // order[.., place within its block, ..] = index along the dimension.
  Result<LoweredStep> rank_blocks(int64_t block, GroupBuffer order) {
    return lower_pass(
        order, Access::kWrite,
        [&](GroupContext& group, KernelBuilder& b, ValueEmitter& emitter, const IndexVector& own) {
          IndexExpr first = group.index.floor_div(own[dim_], block) * block;
          auto count = [&](const IndexVector& at, const std::vector<Operand>& state) {
            Operand before = comes_before(b, emitter, own, first + at[0]);
            return std::vector<Operand>{
                int_op(b, Op::kAdd, state[0], b.convert(before, DType::kI32))};
          };
          std::vector<Operand> rank =
              emit_fold(b, {block}, group.caps.max_loop_iterations, {Operand::i32(0)}, count);
          return Placed{b.index(own[dim_]), int_op(b, Op::kAdd, b.index(first), rank[0]), false};
        });
  }

  // Pairs of sorted runs become sorted runs twice as long, in the other half.
  Result<LoweredStep> merge_runs(int64_t run, GroupBuffer order) {
    return lower_pass(
        order, Access::kReadWrite,
        [&](GroupContext& group, KernelBuilder& b, ValueEmitter& emitter, const IndexVector& own) {
          IndexExpr pair = group.index.floor_div(own[dim_], 2 * run) * (2 * run);
          Operand within = b.index(own[dim_] - pair);
          Operand first = b.compute(Op::kLt, DType::kBool, {within, b.size(run)});
          auto pick = [&](const Operand& yes, const Operand& no) {
            return b.compute(Op::kSelect, DType::kI32, {first, yes, no});
          };
          // The last pair may lack a part of its second run, or all of it.
          Operand rest =
              b.compute(Op::kClamp, DType::kI32,
                        {Operand::i32(0), b.index(IndexExpr(length() - run) - pair), b.size(run)});
          Run other{pick(b.index(pair + run), b.index(pair)), pick(rest, b.size(run)), run};
          Operand source = source_at(b, own, own[dim_]);
          Operand before = count_before(b, emitter, own, source, other, first);
          Operand place = int_op(b, Op::kSubtract, within, pick(Operand::i32(0), b.size(run)));
          place = int_op(b, Op::kAdd, int_op(b, Op::kAdd, b.index(pair), place), before);
          return Placed{source, place, !in_second_};
        });
  }

  // A sorted run: `size` positions from `first` on, at most `most`.
  struct Run {
    Operand first, size;
    int64_t most;
  };

  // What stands at a position of the row, in the half that is sorted so far.
  Operand source_at(KernelBuilder& b, const IndexVector& own, const IndexExpr& position) const {
    IndexVector at = own;
    at[dim_] = position;
    return clamp_to_row(b, b.load_now(0, linearize(at, shape_) + offset(in_second_), std::nullopt));
  }

  // How many elements of the run come before `mine`, by bisection. Of equals, those of
  // a pair's first run come first.
  Operand count_before(KernelBuilder& b, ValueEmitter& emitter, const IndexVector& own,
                       const Operand& mine, const Run& run, const Operand& mine_is_first) {
    uint32_t low = b.add_array(Scope::kRegister, DType::kI32, 1),
             high = b.add_array(Scope::kRegister, DType::kI32, 1);
    b.write(low, 0, Operand::i32(0));
    b.write(high, 0, run.size);
    int64_t steps = 0;
    while (run.most >> steps != 0) ++steps;
    b.begin_serial("s", steps);
    Operand from = b.read(low, 0), to = b.read(high, 0);
    Operand middle =
        int_op(b, Op::kShiftRightLogical, int_op(b, Op::kAdd, from, to), Operand::i32(1));
    Operand position = clamp_to_row(b, int_op(b, Op::kAdd, run.first, middle));
    Operand its = source_at(b, own, b.symbol_for(position, 0, length() - 1));
    Operand before = run_comes_before(b, emitter, own, its, mine, mine_is_first);
    Operand open = b.compute(Op::kLt, DType::kBool, {from, to});
    Operand up = b.compute(Op::kAnd, DType::kBool, {open, before});
    Operand down =
        b.compute(Op::kAnd, DType::kBool, {open, b.compute(Op::kNot, DType::kBool, {before})});
    Operand after = int_op(b, Op::kAdd, middle, Operand::i32(1));
    b.write(low, 0, b.compute(Op::kSelect, DType::kI32, {up, after, from}));
    b.write(high, 0, b.compute(Op::kSelect, DType::kI32, {down, middle, to}));
    b.end();
    return b.read(low, 0);
  }

  // Mine in the first run: is the other one less? Else: is mine not less than it?
  Operand run_comes_before(KernelBuilder& b, ValueEmitter& emitter, const IndexVector& own,
                           const Operand& its, const Operand& mine, const Operand& mine_is_first) {
    IndexVector my_place = own, its_place = own;
    my_place[dim_] = b.symbol_for(mine, 0, length() - 1);
    its_place[dim_] = b.symbol_for(its, 0, length() - 1);
    std::vector<Operand> sides;
    for (Value input : node_.operands) {
      Operand x = emitter.emit(input, my_place), y = emitter.emit(input, its_place);
      sides.push_back(b.compute(Op::kSelect, x.dtype, {mine_is_first, y, x}));
      sides.push_back(b.compute(Op::kSelect, x.dtype, {mine_is_first, x, y}));
    }
    Operand is_less = less(b, sides);
    return b.compute(Op::kEq, DType::kBool, {is_less, mine_is_first});
  }

  // Does the element at `other` stand before the lane's own? Ties by position. Beyond
  // the row's end nothing does.
  Operand comes_before(KernelBuilder& b, ValueEmitter& emitter, const IndexVector& own,
                       const IndexExpr& other) {
    IndexVector there = own;
    there[dim_] = other;
    std::optional<Operand> inside = b.all_of(
        {{IndexExpr(length() - 1) - other, IndexCondition::Kind::kNonNegative}}, std::nullopt);
    std::vector<Operand> forward, backward;
    for (Value input : node_.operands) {
      Operand mine = emitter.emit(input, own), its = emitter.emit(input, there, inside);
      forward.insert(forward.end(), {its, mine});
      backward.insert(backward.end(), {mine, its});
    }
    Operand earlier = b.compute(Op::kLt, DType::kBool, {b.index(other), b.index(own[dim_])});
    Operand not_after = b.compute(Op::kNot, DType::kBool, {less(b, backward)});
    Operand before = b.compute(Op::kSelect, DType::kBool, {earlier, not_after, less(b, forward)});
    return inside ? b.compute(Op::kAnd, DType::kBool, {*inside, before}) : before;
  }

  Operand less(KernelBuilder& b, std::vector<Operand> sides) {
    if (node_.op == Op::kSort) return emit_region(b, *node_.regions[0], sides)[0];
    bool floats = is_float(sides[0].dtype);  // top_k: the greatest first, by total order
    for (Operand& side : sides)
      if (floats)
        side = b.compute(Op::kTotalOrder, side.dtype == DType::kF64 ? DType::kI64 : DType::kI32,
                         {side});
    return b.compute(Op::kGt, DType::kBool, std::move(sides));
  }

  GroupContext& group_;
  const Node& node_;
  const Shape& shape_;
  size_t dim_ = 0;
  std::optional<std::vector<SortKey>> keys_;
  bool in_second_ = false;  // half of the order buffer that holds what is sorted so far
};

}  // namespace

Result<LoweredGroup> lower_sort(GroupContext& group) {
  const Node& node = group.region.node(group.space.anchors[0]);
  Sorter sorter(group, node);
  GroupBuffer order{GroupBuffer::Kind::kScratch, 0};
  LoweredGroup lowered;
  lowered.scratch_bytes = order.size_bytes = sorter.order_type().size_bytes();
  TUFF_RETURN_IF_ERROR(sorter.make_order(order, lowered));
  PointAnchor anchor{order, sorter.order_type(), {}};
  anchor.results = [&sorter](GroupContext& at, FamilyKernel& kernel, uint32_t buffer) {
    return sorter.sorted(at, kernel, buffer);
  };
  TUFF_ASSIGN(LoweredStep step, lower_map(group, &anchor));
  lowered.steps.push_back(std::move(step));
  return lowered;
}

}  // namespace tuff
