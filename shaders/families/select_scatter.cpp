// select_and_scatter (the gradient of a max pool): each lane owns an element of the
// operand, goes over the windows that hold it in order, and takes the source of those
// that select it. Nothing is written twice, so nothing is atomic.
#include "ir/window.h"
#include "shaders/families/family.h"
#include "shaders/families/fold.h"
#include "shaders/families/reducer.h"

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
  SelectScatter(GroupContext& group, FamilyKernel& kernel, const Node& node)
      : group_(group),
        node_(node),
        emitter_(kernel.emitter),
        b_(kernel.builder),
        dims_(window_dims(node, group.region.type(node.operands[0]).shape)) {}

  Operand result() {
    Operand init = b_.convert(emitter_.emit(node_.operands[2], {}), node_.types[0].dtype);
    if (group_.region.type(node_.operands[1]).num_elements() == 0) return init;
    Shape windows = windows_over(dims_);
    return emit_fold(b_, windows, group_.caps.max_loop_iterations, {init},
                     [&](const IndexVector& at, const std::vector<Operand>& state) {
                       return combine(at, windows, state);
                     })[0];
  }

 private:
  // Source elements stand in row-major order: the window that starts first comes first.
  std::vector<Operand> combine(const IndexVector& at, const Shape& windows,
                               std::vector<Operand> state) {
    const Shape& source = group_.region.type(node_.operands[1]).shape;
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
    Operand selected = b_.compute(
        Op::kEq, DType::kBool, {selected_position(window), b_.index(linearize(own, dims_.sizes))});
    if (held) selected = b_.compute(Op::kAnd, DType::kBool, {*held, selected});
    Operand value =
        b_.convert(emitter_.emit(node_.operands[1], window, selected), node_.types[0].dtype);
    Operand next = emit_region(b_, *node_.regions[1], {state[0], value})[0];
    return {b_.compute(Op::kSelect, next.dtype, {selected, next, state[0]})};
  }

  // Position in the window (row-major) of the element it selects; -1 where all is padding.
  Operand selected_position(const IndexVector& window) {
    DType dtype = group_.region.type(node_.operands[0]).dtype;
    std::vector<Operand> state{Operand::i32(-1), Operand::immediate(dtype, 0)};
    state = emit_fold(b_, dims_.sizes, group_.caps.max_loop_iterations / windows_of_element(),
                      state, [&](const IndexVector& at, const std::vector<Operand>& best) {
                        return better(window, at, best);
                      });
    return state[0];
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

  int64_t windows_of_element() const {
    return fold_iterations(windows_over(dims_), group_.caps.max_loop_iterations);
  }

  GroupContext& group_;
  const Node& node_;
  ValueEmitter& emitter_;
  KernelBuilder& b_;
  WindowDims dims_;
};

}  // namespace

Result<LoweredStep> lower_select_scatter(GroupContext& group) {
  const Node& node = group.region.node(group.space.anchors[0]);
  WindowDims dims = window_dims(node, group.region.type(node.operands[0]).shape);
  int64_t limit = group.caps.max_loop_iterations;
  TUFF_RETURN_IF_ERROR(check_fold(windows_over(dims), limit, "A window"));
  TUFF_RETURN_IF_ERROR(
      check_fold(dims.sizes, limit / fold_iterations(windows_over(dims), limit), "A window"));
  PointAnchor anchor;
  anchor.results = [&node](GroupContext& at, FamilyKernel& kernel, uint32_t) {
    return std::vector<Operand>{SelectScatter(at, kernel, node).result()};
  };
  return lower_map(group, &anchor);
}

}  // namespace tuff
