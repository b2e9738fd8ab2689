// sort and top_k by rank: an element's place is the number of elements that come
// before it. One kernel counts, O(n) for each element of a row, and writes the
// permutation; the next reads the inputs through it, so what follows is fused into
// its store. Equal elements keep their order.
#include "shaders/families/family.h"
#include "shaders/families/fold.h"
#include "shaders/families/reducer.h"
#include "shaders/schedule.h"

namespace tuff {

namespace {

class Sorter {
 public:
  Sorter(GroupContext& group, const Node& node)
      : group_(group), node_(node), shape_(group.region.type(node.operands[0]).shape) {
    int64_t d = node.op == Op::kTopK ? -1 : node.attrs.get_int("dimension", -1);
    dim_ = static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(shape_.size()) : d);
  }

  int64_t length() const { return shape_[dim_]; }
  int64_t order_bytes() const { return num_elements(shape_) * 4; }

  // order[.., rank, ..] = index along the dimension.
  Result<LoweredStep> rank(GroupBuffer order) {
    GroupContext group = group_;
    int64_t total = num_elements(shape_), lanes = choose_map_schedule(group.caps, total).lanes;
    KernelBuilder b("sort", lanes, group.index, group.caps);
    ValueEmitter emitter(group.region, group.index, b);
    uint32_t target = b.add_buffer(DType::kI32, Access::kWrite, order_bytes());
    IndexExpr base = b.grid("block", (total + lanes - 1) / lanes) * lanes;
    IndexVector own =
        delinearize(group.index, base + b.begin_lanes(b.lane_extent(base, total)), shape_);
    std::vector<Operand> count =
        emit_fold(b, {length()}, group.caps.max_loop_iterations, {Operand::i32(0)},
                  [&](const IndexVector& at, const std::vector<Operand>& state) {
                    Operand before = comes_before(b, emitter, own, at[0]);
                    return std::vector<Operand>{b.compute(
                        Op::kAdd, DType::kI32, {state[0], b.convert(before, DType::kI32)})};
                  });
    IndexVector place = own;
    place[dim_] = b.symbol_for(count[0], 0, length() - 1);
    b.store(target, linearize(place, shape_), b.index(own[dim_]), std::nullopt);
    b.end();
    return finish_step(b, emitter, {order});
  }

  // The results at the space's point, through the permutation.
  std::vector<Operand> sorted(GroupContext& group, FamilyKernel& kernel, uint32_t order) const {
    KernelBuilder& b = kernel.builder;
    IndexVector at = group.space.vars;
    // A comparator that is no order leaves places unwritten; reads stay in range.
    Operand source = b.load(order, linearize(at, shape_), std::nullopt);
    source = b.compute(Op::kClamp, DType::kI32, {Operand::i32(0), source, b.size(length() - 1)});
    at[dim_] = b.symbol_for(source, 0, length() - 1);
    std::vector<Operand> results;
    for (Value input : node_.operands) results.push_back(kernel.emitter.emit(input, at));
    if (node_.op == Op::kTopK) results.push_back(b.convert(source, node_.types[1].dtype));
    return results;
  }

 private:
  // Does the element at `other` stand before the lane's own? Ties by position.
  Operand comes_before(KernelBuilder& b, ValueEmitter& emitter, const IndexVector& own,
                       const IndexExpr& other) {
    IndexVector there = own;
    there[dim_] = other;
    std::vector<Operand> forward, backward;
    for (Value input : node_.operands) {
      Operand mine = emitter.emit(input, own), its = emitter.emit(input, there);
      forward.insert(forward.end(), {its, mine});
      backward.insert(backward.end(), {mine, its});
    }
    Operand earlier = b.compute(Op::kLt, DType::kBool, {b.index(other), b.index(own[dim_])});
    Operand not_after = b.compute(Op::kNot, DType::kBool, {less(b, backward)});
    return b.compute(Op::kSelect, DType::kBool, {earlier, not_after, less(b, forward)});
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
};

}  // namespace

Result<LoweredGroup> lower_sort(GroupContext& group) {
  const Node& node = group.region.node(group.space.anchors[0]);
  Sorter sorter(group, node);
  TUFF_RETURN_IF_ERROR(
      check_fold({sorter.length()}, group.caps.max_loop_iterations, "A row to sort"));
  GroupBuffer order{GroupBuffer::Kind::kScratch, 0};
  LoweredGroup lowered;
  lowered.scratch_bytes = sorter.order_bytes();
  TUFF_ASSIGN(LoweredStep rank, sorter.rank(order));
  lowered.steps.push_back(std::move(rank));
  PointAnchor anchor{order, {DType::kI32, group.region.type(node.operands[0]).shape}, {}};
  anchor.results = [&sorter](GroupContext& at, FamilyKernel& kernel, uint32_t buffer) {
    return sorter.sorted(at, kernel, buffer);
  };
  TUFF_ASSIGN(LoweredStep step, lower_map(group, &anchor));
  lowered.steps.push_back(std::move(step));
  return lowered;
}

}  // namespace tuff
