// select_and_scatter (the gradient of a max pool) in two kernels. In the first each lane owns
// a window and notes which of its elements it selects. In the second each owns an element of
// the operand, goes over the windows that hold it in order, and takes the source of those that
// select it. Nothing is written twice, so nothing is atomic.
#include "ir/ops/window.h"
#include "shaders/families/family.h"
#include "shaders/families/fold.h"
#include "shaders/families/reducer.h"
#include "shaders/schedule/schedule.h"

namespace tuff {

namespace {

using Kind = IndexCondition::Kind;

// How many windows hold one element, per dimension.
Shape windows_over(const WindowDims& dims) {
  Shape counts;
  for (size_t d = 0; d < dims.sizes.size(); ++d)
    counts.push_back((dims.sizes[d] + dims.strides[d] - 1) / dims.strides[d]);
  return counts;
}

class SelectScatter {
 public:
  SelectScatter(GroupContext& group, KernelBuilder& builder, ValueEmitter& emitter,
                const Node& node)
      : group_(group),
        node_(node),
        emitter_(emitter),
        b_(builder),
        dims_(window_dims(node, group.region.type(node.operands[0]).shape)) {}

  // Position in the window (row-major) of the element it selects; -1 where all is padding.
  Operand selected_position(const IndexVector& window) {
    DType dtype = group_.region.type(node_.operands[0]).dtype;
    return emit_fold(b_, dims_.sizes, group_.caps.max_loop_iterations,
                     {Operand::i32(-1), Operand::immediate(dtype, 0)},
                     [&](const IndexVector& at, const std::vector<Operand>& best) {
                       return better(window, at, best);
                     })[0];
  }

  // The element that the space's variables are bound to; `selected` holds positions.
  Operand result(uint32_t selected) {
    Operand init = b_.convert(emitter_.emit(node_.operands[2], {}), node_.types[0].dtype);
    if (source().num_elements() == 0) return init;
    Shape windows = windows_over(dims_);
    return emit_fold(b_, windows, group_.caps.max_loop_iterations, {init},
                     [&](const IndexVector& at, const std::vector<Operand>& state) {
                       return combine(at, windows, state, selected);
                     })[0];
  }

 private:
  // Source elements stand in row-major order: the window that starts first comes first.
  std::vector<Operand> combine(const IndexVector& at, const Shape& windows,
                               std::vector<Operand> state, uint32_t selected_at) {
    const Shape& source = this->source().shape;
    IndexVector window, own;  // index of the source; where in its window the element stands
    std::vector<IndexCondition> holds;
    for (size_t d = 0; d < source.size(); ++d) {
      IndexExpr padded = group_.space.vars[d] + dims_.padding_low[d];
      IndexExpr last = group_.index.floor_div(padded + dims_.strides[d], dims_.strides[d]) - 1;
      window.push_back(last - (windows[d] - 1) + at[d]);
      own.push_back(padded - window[d] * dims_.strides[d]);
      for (const IndexExpr& e : {window[d], IndexExpr(source[d] - 1) - window[d], own[d],
                                 IndexExpr(dims_.sizes[d] - 1) - own[d]})
        holds.push_back({e, Kind::kNonNegative});
    }
    std::optional<Operand> held = b_.all_of(holds, std::nullopt);
    Operand position = b_.load(selected_at, linearize(window, source), held);
    Operand selected =
        b_.compute(Op::kEq, DType::kBool, {position, b_.index(linearize(own, dims_.sizes))});
    if (held) selected = b_.compute(Op::kAnd, DType::kBool, {*held, selected});
    Operand value =
        b_.convert(emitter_.emit(node_.operands[1], window, selected), node_.types[0].dtype);
    Operand next = emit_region(b_, *node_.regions[1], {state[0], value})[0];
    return {b_.compute(Op::kSelect, next.dtype, {selected, next, state[0]})};
  }

  std::vector<Operand> better(const IndexVector& window, const IndexVector& at,
                              const std::vector<Operand>& best) {
    WindowElement element = window_element(group_.index, dims_, window, at);
    std::optional<Operand> inside = b_.all_of(element.inside, std::nullopt);
    Operand value = emitter_.emit(node_.operands[0], element.index, inside);
    Operand keep = emit_region(b_, *node_.regions[0], {best[1], value})[0];
    Operand any = b_.compute(Op::kGe, DType::kBool, {best[0], Operand::i32(0)});
    keep = b_.compute(Op::kAnd, DType::kBool, {any, keep});
    Operand take = b_.compute(Op::kNot, DType::kBool, {keep});
    if (inside) take = b_.compute(Op::kAnd, DType::kBool, {*inside, take});
    Operand here = b_.index(linearize(at, dims_.sizes));
    return {b_.compute(Op::kSelect, DType::kI32, {take, here, best[0]}),
            b_.compute(Op::kSelect, value.dtype, {take, value, best[1]})};
  }

  const TensorType& source() const { return group_.region.type(node_.operands[1]); }

  GroupContext& group_;
  const Node& node_;
  ValueEmitter& emitter_;
  KernelBuilder& b_;
  WindowDims dims_;
};

// For each element of the source, of type `selected`, what its window selects.
Result<LoweredStep> lower_selection(GroupContext group, const Node& node,
                                    const TensorType& selected, GroupBuffer to) {
  int64_t total = selected.num_elements();
  int64_t lanes = choose_map_schedule(group.caps, total).lanes;
  KernelBuilder b("select", lanes, group.index, group.caps);
  ValueEmitter emitter(group.region, group.index, b);
  uint32_t buffer = b.add_buffer(selected.dtype, Access::kWrite, selected.size_bytes());
  IndexExpr base = b.grid("block", (total + lanes - 1) / lanes) * lanes;
  IndexExpr element = base + b.begin_lanes(b.lane_extent(base, total));
  IndexVector window = delinearize(group.index, element, selected.shape);
  b.store(buffer, element, SelectScatter(group, b, emitter, node).selected_position(window),
          std::nullopt);
  b.end();
  return finish_step(b, emitter, {to});
}

}  // namespace

Result<LoweredGroup> lower_select_scatter(GroupContext& group) {
  const Node& node = group.region.node(group.space.anchors[0]);
  WindowDims dims = window_dims(node, group.region.type(node.operands[0]).shape);
  for (const Shape& walked : {windows_over(dims), dims.sizes})
    TUFF_RETURN_IF_ERROR(check_fold(walked, group.caps.max_loop_iterations, "A window"));
  LoweredGroup lowered;
  PointAnchor anchor;
  TensorType selected{DType::kI32, group.region.type(node.operands[1]).shape};
  if (selected.num_elements() > 0) {
    anchor.buffer = {GroupBuffer::Kind::kScratch, 0};
    anchor.buffer_type = selected;
    lowered.scratch_bytes = selected.size_bytes();
    TUFF_ASSIGN(LoweredStep select, lower_selection(group, node, selected, *anchor.buffer));
    lowered.steps.push_back(std::move(select));
  }
  anchor.results = [&node](GroupContext& at, FamilyKernel& kernel, uint32_t positions) {
    SelectScatter point(at, kernel.builder, kernel.emitter, node);
    return std::vector<Operand>{point.result(positions)};
  };
  TUFF_ASSIGN(LoweredStep scatter, lower_map(group, &anchor));
  lowered.steps.push_back(std::move(scatter));
  return lowered;
}

}  // namespace tuff
