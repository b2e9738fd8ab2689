// Normalisations and softmaxes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/onnx/ops/convolution.h"

namespace tuff::onnx {

namespace {

// Up to opset 12 all dimensions from the axis on are one row.
template <typename Function>
Items along_axis(const Call& call, const Function& function) {
  Tensor x = call.need(0);
  if (x.rank() == 0) return {function(x.reshape({1}), 0).reshape({})};
  if (call.opset >= 13) return {function(x, x.axis(call.i("axis", -1)))};
  int64_t axis = call.i("axis", 1), rows = 1;
  if (axis < 0) axis += x.rank();
  for (int64_t d = 0; d < std::min(axis, x.rank()); ++d) rows *= x.dim(d);
  if (x.num_elements() == 0) return {x};
  return {function(x.reshape({rows, x.num_elements() / rows}), 1).reshape(x.shape())};
}

Items softmax_of(const Call& call) { return along_axis(call, softmax); }
Items log_softmax_of(const Call& call) { return along_axis(call, log_softmax); }

// 1 at the first of the largest elements.
Items hardmax(const Call& call) {
  return along_axis(call, [](const Tensor& x, int64_t axis) {
    Tensor place = x.iota(x.shape(), axis, DType::kI32);
    Tensor is_top = x >= x.reduce(Op::kMaximum, {axis}, true);
    Tensor first = is_top.select(place, place.scalar(static_cast<double>(x.dim(axis))))
                       .reduce(Op::kMinimum, {axis}, true);
    return equal(place, first).convert(x.dtype());
  });
}

// (x - mean) / sqrt(variance + epsilon) over dimensions, in 32 bits at least.
Tensor standardized(const Tensor& x, const Ints& dims, double epsilon) {
  Tensor centred = x - x.mean(dims, true);
  return centred * ((centred * centred).mean(dims, true) + epsilon).rsqrt();
}

Items batch_normalization(const Call& call) {
  Tensor x = call.need(0), wide = x.wide();
  Tensor scale = call.need(1).wide(), shift = call.need(2).wide();
  Tensor mean = call.need(3).wide(), variance = call.need(4).wide();
  double epsilon = call.f("epsilon", 1e-5), momentum = call.f("momentum", 0.9);
  bool trains = call.opset >= 14 ? call.flag("training_mode") : call.wants(1);
  Items running;
  if (trains) {
    Ints dims = range(0, x.rank());
    dims.erase(dims.begin() + 1);
    Tensor batch_mean = wide.mean(dims);
    Tensor centred = wide - along_channels(batch_mean, x.rank());
    Tensor batch_variance = (centred * centred).mean(dims);
    running = {
        (mean * momentum + batch_mean * (1 - momentum)).convert(call.need(3).dtype()),
        (variance * momentum + batch_variance * (1 - momentum)).convert(call.need(4).dtype())};
    mean = batch_mean, variance = batch_variance;
  }
  // One product and one sum for each element; of weights both are known beforehand.
  Tensor factor = (scale * (variance + epsilon).rsqrt()).folded();
  Tensor offset = (shift - mean * factor).folded();
  Tensor y = wide * along_channels(factor, x.rank()) + along_channels(offset, x.rank());
  Items results{y.convert(x.dtype())};
  results.insert(results.end(), running.begin(), running.end());
  return results;
}

Items instance_normalization(const Call& call) {
  Tensor x = call.need(0), wide = x.wide();
  Tensor y = standardized(wide, range(2, x.rank()), call.f("epsilon", 1e-5));
  y = y * along_channels(call.need(1).wide(), x.rank()) +
      along_channels(call.need(2).wide(), x.rank());
  return {y.convert(x.dtype())};
}

// Scale and shift are one for each group up to opset 20, for each channel from then on.
Items group_normalization(const Call& call) {
  Tensor x = call.need(0), wide = x.wide(), scale = call.need(1).wide(),
         shift = call.need(2).wide();
  int64_t groups = call.required_i("num_groups");
  if (groups < 1 || x.rank() < 2 || x.dim(1) % groups != 0)
    refuse_input("The channels do not divide into the groups.");
  Shape split{x.dim(0), groups, x.num_elements() / std::max<int64_t>(x.dim(0) * groups, 1)};
  Tensor y = standardized(wide.reshape(split), {2}, call.f("epsilon", 1e-5));
  bool by_group = scale.num_elements() == groups && scale.num_elements() != x.dim(1);
  if (by_group) y = y * along_channels(scale, 3) + along_channels(shift, 3);
  y = y.reshape(x.shape());
  if (!by_group) y = y * along_channels(scale, x.rank()) + along_channels(shift, x.rank());
  return {y.convert(x.dtype())};
}

Items layer_normalization(const Call& call) {
  Tensor x = call.need(0), scale = call.in(1), shift = call.in(2);
  int64_t axis = x.axis(call.i("axis", -1));
  double epsilon = call.f("epsilon", 1e-5);
  Items results{layer_norm(x, scale, shift, axis, epsilon)};
  if (!call.wants(1) && !call.wants(2)) return results;
  Ints dims = range(axis, x.rank());
  Tensor mean = x.wide().mean(dims, true), centred = x.wide() - mean;
  results.emplace_back(mean);
  results.emplace_back(((centred * centred).mean(dims, true) + epsilon).rsqrt());
  return results;
}

Items rms_normalization(const Call& call) {
  Tensor x = call.need(0);
  return {rms_norm(x, call.in(1), call.i("axis", -1), call.f("epsilon", 1e-5))};
}

Items lp_normalization(const Call& call) {
  Tensor x = call.need(0), wide = x.wide();
  int64_t axis = x.axis(call.i("axis", -1)), p = call.i("p", 2);
  if (p != 1 && p != 2) refuse_input(fmt::format("The attribute p ({}) is neither 1 nor 2.", p));
  Tensor norm = p == 1 ? wide.abs().sum({axis}, true) : (wide * wide).sum({axis}, true).sqrt();
  // Rows of zeros stay zeros.
  norm = equal(norm, norm.scalar(0)).select(norm.scalar(1), norm);
  return {(wide / norm).convert(x.dtype())};
}

Items mean_variance_normalization(const Call& call) {
  Tensor x = call.need(0), wide = x.wide();
  Ints axes = x.axes(call.ints("axes", {0, 2, 3}));
  Tensor centred = wide - wide.mean(axes, true);
  Tensor deviation = (centred * centred).mean(axes, true).sqrt();
  return {(centred / (deviation + 1e-9)).convert(x.dtype())};
}

// x / (bias + alpha / size * sum of squares of channels nearby) ^ beta
Items local_response_normalization(const Call& call) {
  Tensor x = call.need(0), wide = x.wide();
  int64_t size = call.required_i("size");
  if (size < 1 || x.rank() < 2) refuse_input("The attribute size must be positive.");
  WindowAttrs window;
  window.window_dimensions = Ints(x.shape().size(), 1);
  window.window_dimensions[1] = size;
  window.padding = Ints(2 * x.shape().size(), 0);
  window.padding[2] = (size - 1) / 2;
  window.padding[3] = size - 1 - (size - 1) / 2;
  Tensor near = (wide * wide).reduce_window(Op::kAdd, std::move(window));
  Tensor base = near * (call.f("alpha", 1e-4) / static_cast<double>(size)) + call.f("bias", 1);
  return {(wide / base.binary(Op::kPower, base.scalar(call.f("beta", 0.75)))).convert(x.dtype())};
}

constexpr OpRow kNormalizationRows[] = {
    {"BatchNormalization", batch_normalization},
    {"GroupNormalization", group_normalization},
    {"Hardmax", hardmax},
    {"InstanceNormalization", instance_normalization},
    {"LRN", local_response_normalization},
    {"LayerNormalization", layer_normalization},
    {"LogSoftmax", log_softmax_of},
    {"LpNormalization", lp_normalization},
    {"MeanVarianceNormalization", mean_variance_normalization},
    {"RMSNormalization", rms_normalization},
    {"SimplifiedLayerNormalization", rms_normalization},
    {"Softmax", softmax_of},
};

}  // namespace

std::span<const OpRow> normalization_ops() { return kNormalizationRows; }

}  // namespace tuff::onnx
