// Reductions over dimensions, and running ones along one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

using Formula = Tensor (*)(const Tensor& x, const Ints& axes);

// Axes are an attribute or, later, an input; none are all, unless noop_with_empty_axes.
template <Formula kFormula>
Items reduction(const Call& call) {
  Tensor x = call.need(0);
  Ints axes = call.ints_of("axes", 1).value_or(Ints());
  if (axes.empty() && !call.flag("noop_with_empty_axes")) axes = range(0, x.rank());
  axes = x.axes(std::move(axes));
  Tensor result = kFormula(x, axes);
  if (!call.flag("keepdims", true)) result = result.squeeze(axes);
  return {result};
}

Tensor sum(const Tensor& x, const Ints& axes) { return x.sum(axes, true); }
Tensor product(const Tensor& x, const Ints& axes) { return x.reduce(Op::kMultiply, axes, true); }
Tensor largest(const Tensor& x, const Ints& axes) { return x.reduce(Op::kMaximum, axes, true); }
Tensor smallest(const Tensor& x, const Ints& axes) { return x.reduce(Op::kMinimum, axes, true); }
Tensor mean(const Tensor& x, const Ints& axes) {
  if (axes.empty()) return x;
  if (!is_float(x.dtype())) return x.mean(axes, true);
  return x.wide().mean(axes, true).convert(x.dtype());
}
Tensor l1(const Tensor& x, const Ints& axes) { return x.abs().sum(axes, true); }
Tensor sum_square(const Tensor& x, const Ints& axes) { return (x * x).sum(axes, true); }
// Roots and logarithms of integers are computed as floats.
Tensor in_float(const Tensor& x) { return is_float(x.dtype()) ? x.wide() : x.convert(DType::kF64); }
Tensor l2(const Tensor& x, const Ints& axes) {
  return sum_square(in_float(x), axes).sqrt().convert(x.dtype());
}
Tensor log_sum(const Tensor& x, const Ints& axes) {
  return sum(in_float(x), axes).log().convert(x.dtype());
}
Tensor log_sum_exp(const Tensor& x, const Ints& axes) {
  Tensor wide = in_float(x), top = wide.reduce(Op::kMaximum, axes, true);
  // Rows of infinities have no finite maximum to take off.
  top = top.unary(Op::kIsFinite).select(top, top.scalar(0));
  return ((wide - top).exp().sum(axes, true).log() + top).convert(x.dtype());
}

// Windows that are all prefixes, or all suffixes, of the dimension.
Tensor running(const Tensor& x, Op op, int64_t axis, bool exclusive, bool reverse) {
  axis = x.axis(axis);
  auto d = static_cast<size_t>(axis);
  if (x.num_elements() == 0) return x;
  Tensor from = x;
  if (exclusive) {
    Ints low(x.shape().size(), 0), high = low;
    low[d] = reverse ? -1 : 1;
    high[d] = reverse ? 1 : -1;
    from = x.pad(low, high, neutral(op));
  }
  WindowAttrs window;
  window.window_dimensions = Ints(x.shape().size(), 1);
  window.window_dimensions[d] = x.dim(axis);
  window.padding = Ints(2 * x.shape().size(), 0);
  window.padding[2 * d + (reverse ? 1 : 0)] = x.dim(axis) - 1;
  return from.reduce_window(op, std::move(window));
}

template <Op kOp>
Items cumulative(const Call& call) {
  return {
      running(call.need(0), kOp, call.known_int(1), call.flag("exclusive"), call.flag("reverse"))};
}

constexpr OpRow kReductionRows[] = {
    {"CumProd", cumulative<Op::kMultiply>},
    {"CumSum", cumulative<Op::kAdd>},
    {"ReduceL1", reduction<l1>},
    {"ReduceL2", reduction<l2>},
    {"ReduceLogSum", reduction<log_sum>},
    {"ReduceLogSumExp", reduction<log_sum_exp>},
    {"ReduceMax", reduction<largest>},
    {"ReduceMean", reduction<mean>},
    {"ReduceMin", reduction<smallest>},
    {"ReduceProd", reduction<product>},
    {"ReduceSum", reduction<sum>},
    {"ReduceSumSquare", reduction<sum_square>},
};

}  // namespace

std::span<const OpRow> reduction_ops() { return kReductionRows; }

}  // namespace tuff::onnx
