// Convolutions: batch, features and any number of spatial dimensions, in this order.
#include "frontend/onnx/ops/convolution.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/onnx/build/layout.h"

namespace tuff::onnx {

namespace {

// Channels are last, but in weights.
ConvolutionAttrs layout(int64_t rank) {
  ConvolutionAttrs attrs;
  attrs.input_batch_dimension = attrs.output_batch_dimension = 0;
  attrs.input_feature_dimension = attrs.output_feature_dimension = rank - 1;
  attrs.kernel_output_feature_dimension = 0;
  attrs.kernel_input_feature_dimension = 1;
  attrs.input_spatial_dimensions = attrs.output_spatial_dimensions = range(1, rank - 1);
  attrs.kernel_spatial_dimensions = range(2, rank);
  return attrs;
}

// Of x and the result with channels first.
Tensor convolution(const Tensor& x, const Tensor& kernel, ConvolutionAttrs attrs) {
  return x.transpose(channels_last(x.rank()))
      .add(Op::kConvolution, {kernel}, {x.dtype(), {}}, std::move(attrs))
      .transpose(channels_first(x.rank()));
}

Ints interleaved(const Ints& low, const Ints& high) {
  Ints pairs;
  for (size_t d = 0; d < low.size(); ++d) pairs.insert(pairs.end(), {low[d], high[d]});
  return pairs;
}

Items conv(const Call& call) {
  Tensor x = call.need(0), w = call.need(1);
  return {with_bias(convolve(call, x, w), call.in(2))};
}

// The weights of each group, with rows and columns exchanged: [C, M/g, ...] to [M, C/g, ...].
Tensor exchanged(const Tensor& w, int64_t groups) {
  Shape split{groups, w.dim(0) / groups, w.dim(1)};
  Shape spatial(w.shape().begin() + 2, w.shape().end());
  split.insert(split.end(), spatial.begin(), spatial.end());
  Ints permutation = range(0, static_cast<int64_t>(split.size()));
  std::swap(permutation[1], permutation[2]);
  Shape joined{groups * w.dim(1), w.dim(0) / groups};
  joined.insert(joined.end(), spatial.begin(), spatial.end());
  return w.reshape(std::move(split)).transpose(std::move(permutation)).reshape(std::move(joined));
}

// Pads that give the shape that output_shape or auto_pad ask for.
void choose_pads(const Call& call, const Tensor& x, const Ints& extra, SpatialWindow* window) {
  std::string mode = call.s("auto_pad", "NOTSET");
  Ints wanted = call.ints("output_shape");
  size_t spatial = window->sizes.size();
  if (wanted.size() > spatial)
    wanted.erase(wanted.begin(), wanted.end() - static_cast<ptrdiff_t>(spatial));
  bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (wanted.empty() && !same) return;
  for (size_t d = 0; d < spatial; ++d) {
    int64_t size = x.shape()[d + 2];
    int64_t out = wanted.size() == spatial ? wanted[d] : size * window->strides[d];
    int64_t total = window->strides[d] * (size - 1) + extra[d] +
                    (window->sizes[d] - 1) * window->dilations[d] + 1 - out;
    int64_t half = total >= 0 ? total / 2 : -((-total + 1) / 2);
    window->low[d] = mode == "SAME_UPPER" ? half : total - half;
    window->high[d] = total - window->low[d];
  }
}

Items conv_transpose(const Call& call) {
  Tensor x = call.need(0), w = call.need(1);
  if (w.rank() != x.rank()) refuse_input("The weights have another rank than the input.");
  int64_t groups = call.i("group", 1);
  if (groups < 1 || w.dim(0) % groups != 0 || w.dim(0) != x.dim(1))
    refuse_input("The weights do not fit the input's channels and the groups.");
  SpatialWindow window = spatial_window(call, x, Ints(w.shape().begin() + 2, w.shape().end()));
  Ints extra = call.ints("output_padding", Ints(window.sizes.size(), 0));
  if (extra.size() != window.sizes.size())
    refuse_input("The attribute output_padding does not fit.");
  choose_pads(call, x, extra, &window);
  ConvolutionAttrs attrs = layout(x.rank());
  Ints low, high;
  for (size_t d = 0; d < window.sizes.size(); ++d) {
    int64_t reach = (window.sizes[d] - 1) * window.dilations[d];
    low.push_back(reach - window.low[d]);
    high.push_back(reach - window.high[d] + extra[d]);
  }
  attrs.padding = interleaved(low, high);
  attrs.lhs_dilation = window.strides;
  attrs.rhs_dilation = window.dilations;
  attrs.feature_group_count = groups;
  Tensor kernel = exchanged(w, groups).reverse(range(2, x.rank()));
  return {with_bias(convolution(x, kernel, std::move(attrs)), call.in(2))};
}

// A depthwise convolution that sees what came before: the state is what it needs of that.
Items causal_conv(const Call& call) {
  Tensor x = call.need(0), w = call.need(1), bias = call.in(2), past = call.in(3);
  if (x.rank() != 3 || w.rank() != 3) refuse_input("The input and the weights must be of rank 3.");
  int64_t reach = w.dim(2) - 1;
  Tensor whole = past ? concatenate({past, x}, 2) : x.pad({0, 0, reach}, {0, 0, 0});
  ConvolutionAttrs attrs = layout(3);
  attrs.feature_group_count = x.dim(1);
  Tensor y = with_bias(convolution(whole, w, std::move(attrs)), bias);
  std::string activation = call.s("activation", "none");
  if (activation == "silu" || activation == "swish")
    y = (y.wide() * y.wide().sigmoid()).convert(y.dtype());
  else if (activation != "none")
    refuse_input(fmt::format("The attribute activation ({}) is not known.", activation));
  return {y, whole.slice(2, whole.dim(2) - reach, whole.dim(2))};
}

constexpr OpRow kConvolutionRows[] = {
    {"CausalConvWithState", causal_conv},
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
};

}  // namespace

Tensor convolve(const Call& call, const Tensor& x, const Tensor& w) {
  if (w.rank() != x.rank() || x.rank() < 3)
    refuse_input(fmt::format("An input ({}) and weights ({}) have no convolution.", words(x.type()),
                             words(w.type())));
  SpatialWindow window = spatial_window(call, x, Ints(w.shape().begin() + 2, w.shape().end()));
  for (size_t d = 0; d < window.sizes.size(); ++d)
    if (window.sizes[d] != w.shape()[d + 2])
      refuse_input("The attribute kernel_shape is not that of the weights.");
  ConvolutionAttrs attrs = layout(x.rank());
  attrs.window_strides = window.strides;
  attrs.rhs_dilation = window.dilations;
  attrs.padding = interleaved(window.low, window.high);
  attrs.feature_group_count = call.i("group", 1);
  return convolution(x, w, std::move(attrs));
}

Tensor with_bias(const Tensor& y, const Tensor& bias) {
  return bias ? y + along_channels(bias, y.rank()) : y;
}

Tensor along_channels(const Tensor& vector, int64_t rank) {
  Shape shape(at(rank), 1);
  shape[1] = vector.num_elements();
  return vector.reshape(std::move(shape));
}

std::span<const OpRow> convolution_ops() { return kConvolutionRows; }

}  // namespace tuff::onnx
