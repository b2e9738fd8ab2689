// Activations: formulas of one operand and a few numbers.
#include <cmath>

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

// Computed in 32 bits where the operand has 16.
template <Tensor (*kFormula)(const Call&, const Tensor&)>
Items activation(const Call& call) {
  Tensor x = call.need(0);
  return {kFormula(call, x.wide()).convert(x.dtype())};
}

Tensor exp_minus_one(const Tensor& x) { return x.unary(Op::kExponentialMinusOne); }
Tensor clamp(const Tensor& x, double low, double high) { return x.max(low).min(high); }
Tensor softplus(const Tensor& x) { return x.max(0.0) + (-x.abs()).exp().log1p(); }

Tensor elu(const Call& call, const Tensor& x) {
  return (x >= 0.0).select(x, exp_minus_one(x) * call.f("alpha", 1));
}
Tensor selu(const Call& call, const Tensor& x) {
  double alpha = call.f("alpha", 1.67326319217681884765625);
  double gamma = call.f("gamma", 1.05070102214813232421875);
  return (x > 0.0).select(x, exp_minus_one(x) * alpha) * gamma;
}
Tensor celu(const Call& call, const Tensor& x) {
  double alpha = call.f("alpha", 1);
  return x.max(0.0) + (exp_minus_one(x / alpha) * alpha).min(0.0);
}
Tensor leaky_relu(const Call& call, const Tensor& x) {
  return (x >= 0.0).select(x, x * call.f("alpha", 0.01));
}
Tensor thresholded_relu(const Call& call, const Tensor& x) {
  return (x > call.f("alpha", 1)).select(x, x.scalar(0));
}
Tensor hard_sigmoid(const Call& call, const Tensor& x) {
  return clamp(x * call.f("alpha", 0.2) + call.f("beta", 0.5), 0, 1);
}
Tensor hard_swish(const Call&, const Tensor& x) { return x * clamp(x / 6.0 + 0.5, 0, 1); }
Tensor swish(const Call& call, const Tensor& x) {
  double alpha = call.f("alpha", 1);
  return x * (alpha == 1 ? x : x * alpha).sigmoid();
}
Tensor mish(const Call&, const Tensor& x) { return x * softplus(x).tanh(); }
Tensor softplus_of(const Call&, const Tensor& x) { return softplus(x); }
Tensor softsign(const Call&, const Tensor& x) { return x / (1.0 + x.abs()); }
Tensor shrink(const Call& call, const Tensor& x) {
  double lambd = call.f("lambd", 0.5), bias = call.f("bias", 0);
  return (x < -lambd).select(x + bias, (x > lambd).select(x - bias, x.scalar(0)));
}

template <Op kOp>
Items unary(const Call& call) {
  return {call.need(0).unary(kOp)};
}

Items relu(const Call& call) { return {call.need(0).max(0.0)}; }

Items shrink_any(const Call& call) {
  Tensor x = call.need(0);
  if (is_float(x.dtype())) return activation<shrink>(call);
  return {shrink(call, x.convert(DType::kF64)).convert(x.dtype())};
}

Items gelu_of(const Call& call) {
  return {gelu(call.need(0), call.s("approximate", "none") == "tanh")};
}

// Up to opset 6 a slope for each channel stands alone.
Items prelu(const Call& call) {
  Tensor x = call.need(0), slope = call.need(1);
  if (slope.rank() == 1 && x.rank() > 2 && slope.dim(0) == x.dim(1) && call.opset < 7)
    slope = slope.broadcast(
        [&] {
          Shape shape(x.shape().size(), 1);
          shape[1] = slope.dim(0);
          return shape;
        }(),
        {1});
  return {(x >= 0.0).select(x, x * slope)};
}

// Bounds are attributes up to opset 10. The upper bound wins where they cross.
Items clip(const Call& call) {
  Tensor x = call.need(0), low = call.in(1), high = call.in(2);
  if (call.has("min")) low = x.scalar(call.f("min", 0));
  if (call.has("max")) high = x.scalar(call.f("max", 0));
  if (low) x = x.max(low.reshape({}));
  if (high) x = x.min(high.reshape({}));
  return {x};
}

Items swiglu(const Call& call) {
  Tensor gate = call.need(0);
  return {(swish(call, gate.wide()) * call.need(1).wide()).convert(gate.dtype())};
}

constexpr OpRow kActivationRows[] = {
    {"Celu", activation<celu>},
    {"Clip", clip},
    {"Elu", activation<elu>},
    {"Gelu", gelu_of},
    {"HardSigmoid", activation<hard_sigmoid>},
    {"HardSwish", activation<hard_swish>},
    {"LeakyRelu", activation<leaky_relu>},
    {"Mish", activation<mish>},
    {"PRelu", prelu},
    {"Relu", relu},
    {"Selu", activation<selu>},
    {"Shrink", shrink_any},
    {"Sigmoid", unary<Op::kLogistic>},
    {"Softplus", activation<softplus_of>},
    {"Softsign", activation<softsign>},
    {"SwiGLU", swiglu},
    {"Swish", activation<swish>},
    {"Tanh", unary<Op::kTanh>},
    {"ThresholdedRelu", activation<thresholded_relu>},
};

}  // namespace

std::span<const OpRow> activation_ops() { return kActivationRows; }

}  // namespace tuff::onnx
