// Convolutions as a library knows them: forward ones, and the two gradients, which
// reach us as convolutions too (dilated ones; ones whose kernel is an image).
#include <algorithm>

#include "ir/ops/contraction.h"
#include "shaders/families/library/library.h"

namespace tuff {

namespace {

using ConvolutionKind = ConvolutionCall::Kind;

bool all_ones(const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 1; });
}

// An operand or the result of the node, by the names of its dimensions.
struct Layout {
  const Shape& shape;
  const std::vector<int64_t>& strides;
  int64_t offset;
  DType dtype;

  int64_t size(int64_t dim) const { return shape[static_cast<size_t>(dim)]; }
  int64_t stride(int64_t dim) const { return strides[static_cast<size_t>(dim)]; }
  StridedTensor tensor(const std::vector<int64_t>& dims) const {
    StridedTensor result;
    for (int64_t d : dims) {
      result.sizes.push_back(size(d));
      result.strides.push_back(stride(d));
    }
    result.offset = offset;
    result.dtype = dtype;
    return result;
  }
};

std::vector<int64_t> join(std::vector<int64_t> first, const std::vector<int64_t>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

// [out, in, spatial..] becomes [groups, out / groups, in, spatial..].
void split_groups(StridedTensor& weights, int64_t groups) {
  weights.sizes[0] /= groups;
  weights.sizes.insert(weights.sizes.begin(), groups);
  weights.strides.insert(weights.strides.begin(), weights.strides[0] * weights.sizes[1]);
}

void flip(StridedTensor& tensor, size_t dim) {
  tensor.offset += (tensor.sizes[dim] - 1) * tensor.strides[dim];
  tensor.strides[dim] = -tensor.strides[dim];
}

// Brings the source and the padding of each spatial dimension into agreement with
// the other sizes. What a negative padding takes away is left out of the source; a
// rest too short for one more step may stay. False: this is no plain convolution.
bool fit_source(ConvolutionCall& call) {
  for (size_t i = 0; i < call.strides.size(); ++i) {
    size_t d = i + 2;
    int64_t& size = call.source.sizes[d];
    int64_t& low = call.padding_low[i];
    bool may_cut = call.kind != ConvolutionKind::kBackwardData;  // else the source is the result
    if (low < 0) {
      if (!may_cut) return false;
      call.source.offset -= low * call.source.strides[d];
      size += low;
      low = 0;
    }
    int64_t reach = (call.destination.sizes[d] - 1) * call.strides[i] +
                    (call.weights.sizes[d + 1] - 1) * call.dilations[i] + 1;
    int64_t high = reach - size - low;
    bool just_a_rest = high + call.strides[i] > 0;
    if (!just_a_rest && !may_cut) return false;
    if (!just_a_rest) size += high;
    call.padding_high.push_back(std::max<int64_t>(high, 0));
    if (size <= 0) return false;
  }
  return true;
}

struct NodeLayouts {
  ConvolutionDims dims;
  Layout input, kernel, output;
};

ConvolutionCall forward(const NodeLayouts& node) {
  const ConvolutionDims& dims = node.dims;
  ConvolutionCall call;
  call.source = node.input.tensor(join({dims.input_batch, dims.input_feature}, dims.input_spatial));
  call.weights = node.kernel.tensor(
      join({dims.kernel_output_feature, dims.kernel_input_feature}, dims.kernel_spatial));
  split_groups(call.weights, dims.feature_groups);
  call.destination =
      node.output.tensor(join({dims.output_batch, dims.output_feature}, dims.output_spatial));
  for (size_t i = 0; i < dims.strides.size(); ++i)
    if (dims.reversal[i]) flip(call.weights, i + 3);
  call.strides = dims.strides;
  call.dilations = dims.rhs_dilation;
  call.padding_low = dims.padding_low;
  return call;
}

// A dilated input: result[stride * j + low - t] += input[j] * kernel[t] is what a
// strided convolution does to its source's gradient, with the kernel turned around.
ConvolutionCall backward_data(const NodeLayouts& node) {
  const ConvolutionDims& dims = node.dims;
  ConvolutionCall call;
  call.kind = ConvolutionKind::kBackwardData;
  call.source =
      node.output.tensor(join({dims.output_batch, dims.output_feature}, dims.output_spatial));
  call.weights = node.kernel.tensor(
      join({dims.kernel_output_feature, dims.kernel_input_feature}, dims.kernel_spatial));
  split_groups(call.weights, dims.feature_groups);
  std::swap(call.weights.sizes[1], call.weights.sizes[2]);
  std::swap(call.weights.strides[1], call.weights.strides[2]);
  call.destination =
      node.input.tensor(join({dims.input_batch, dims.input_feature}, dims.input_spatial));
  call.strides = dims.lhs_dilation;
  call.dilations = dims.rhs_dilation;
  for (size_t i = 0; i < dims.strides.size(); ++i) {
    if (!dims.reversal[i]) flip(call.weights, i + 3);
    call.padding_low.push_back((call.weights.sizes[i + 3] - 1) * dims.rhs_dilation[i] -
                               dims.padding_low[i]);
  }
  return call;
}

// Batch and features change places: the kernel is the gradient of a forward
// convolution's result, its window the images, and what comes out are weights.
ConvolutionCall backward_weights(const NodeLayouts& node) {
  const ConvolutionDims& dims = node.dims;
  ConvolutionCall call;
  call.kind = ConvolutionKind::kBackwardWeights;
  call.source = node.input.tensor(join({dims.input_feature, dims.input_batch}, dims.input_spatial));
  call.destination = node.kernel.tensor(
      join({dims.kernel_input_feature, dims.kernel_output_feature}, dims.kernel_spatial));
  call.weights =
      node.output.tensor(join({dims.output_feature, dims.output_batch}, dims.output_spatial));
  split_groups(call.weights, 1);
  call.strides = dims.rhs_dilation;
  call.dilations = dims.strides;
  call.padding_low = dims.padding_low;
  return call;
}

// Dimensions of operand 0 and 1 that are summed over together.
using DimPair = std::pair<int64_t, int64_t>;

// All of them, if the only window is the whole input.
std::optional<std::vector<DimPair>> one_window(const ConvolutionDims& dims, const Shape& input,
                                               const Shape& kernel) {
  if (dims.feature_groups != 1 || dims.batch_groups != 1) return std::nullopt;
  std::vector<DimPair> pairs{{dims.input_feature, dims.kernel_input_feature}};
  for (size_t i = 0; i < dims.input_spatial.size(); ++i) {
    DimPair pair{dims.input_spatial[i], dims.kernel_spatial[i]};
    bool whole =
        input[static_cast<size_t>(pair.first)] == kernel[static_cast<size_t>(pair.second)] &&
        dims.padding_low[i] == 0 && dims.padding_high[i] == 0 && dims.lhs_dilation[i] == 1 &&
        dims.rhs_dilation[i] == 1 && !dims.reversal[i];
    if (!whole) return std::nullopt;
    pairs.push_back(pair);
  }
  return pairs;
}

}  // namespace

StridedTensor& result_of(ConvolutionCall& call) {
  switch (call.kind) {
    case ConvolutionKind::kForward: return call.destination;
    case ConvolutionKind::kBackwardData: return call.source;
    case ConvolutionKind::kBackwardWeights: break;
  }
  return call.weights;
}

std::optional<ConvolutionCall> convolution_call(const Graph& region, const Node& node,
                                                const AffineAccess& a, const AffineAccess& b,
                                                const std::vector<int64_t>& c_strides) {
  const TensorType& input = region.type(node.operands[0]);
  const TensorType& kernel = region.type(node.operands[1]);
  NodeLayouts layouts{convolution_dims(node),
                      {input.shape, a.strides, a.offset, input.dtype},
                      {kernel.shape, b.strides, b.offset, kernel.dtype},
                      {node.types[0].shape, c_strides, 0, node.types[0].dtype}};
  const ConvolutionDims& dims = layouts.dims;
  size_t spatial = dims.input_spatial.size();
  if (spatial == 0 || spatial > 3 || dims.batch_groups != 1) return std::nullopt;
  ConvolutionCall call;
  if (!all_ones(dims.lhs_dilation)) {
    if (!all_ones(dims.strides)) return std::nullopt;
    call = backward_data(layouts);
  } else if (dims.feature_groups == 1 && all_ones(dims.strides) &&
             std::find(dims.reversal.begin(), dims.reversal.end(), true) == dims.reversal.end() &&
             product_at(layouts.kernel.shape, dims.kernel_spatial) >
                 product_at(layouts.output.shape, dims.output_spatial)) {
    call = backward_weights(layouts);
  } else {
    call = forward(layouts);
  }
  if (!fit_source(call)) return std::nullopt;
  call.only_direct = !node.attrs.as<ConvolutionAttrs>().precision_config.empty();
  return call;
}

std::optional<MatmulCall> one_window_call(const Graph& region, const Node& node,
                                          const AffineAccess& a, const AffineAccess& b,
                                          const std::vector<int64_t>& c_strides) {
  const TensorType &lhs = region.type(node.operands[0]), &rhs = region.type(node.operands[1]);
  ConvolutionDims dims = convolution_dims(node);
  auto pairs = one_window(dims, lhs.shape, rhs.shape);
  if (!pairs) return std::nullopt;
  // A sum may go in any order: the one in which operand 0 lies in memory.
  std::stable_sort(pairs->begin(), pairs->end(), [&](const DimPair& x, const DimPair& y) {
    return a.strides[static_cast<size_t>(x.first)] > a.strides[static_cast<size_t>(y.first)];
  });
  std::vector<int64_t> a_dims, b_dims;
  for (auto [in, out] : *pairs) a_dims.push_back(in), b_dims.push_back(out);
  auto a_col = merged_stride(a_dims, lhs.shape, a.strides);
  auto b_row = merged_stride(b_dims, rhs.shape, b.strides);
  if (!a_col || !b_row) return std::nullopt;
  Layout input{lhs.shape, a.strides, a.offset, lhs.dtype};
  Layout kernel{rhs.shape, b.strides, b.offset, rhs.dtype};
  Layout result{node.types[0].shape, c_strides, 0, node.types[0].dtype};
  MatmulCall call;
  call.operand_type = lhs.dtype, call.result_type = node.types[0].dtype;
  call.m = input.size(dims.input_batch), call.n = kernel.size(dims.kernel_output_feature);
  call.k = product_at(lhs.shape, a_dims);
  call.a_offset = a.offset, call.a_row = input.stride(dims.input_batch), call.a_col = *a_col;
  call.b_offset = b.offset, call.b_row = *b_row;
  call.b_col = kernel.stride(dims.kernel_output_feature);
  call.c_row = result.stride(dims.output_batch), call.c_col = result.stride(dims.output_feature);
  return call;
}

}  // namespace tuff
