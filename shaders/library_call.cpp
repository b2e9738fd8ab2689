#include "shaders/library_call.h"

#include <algorithm>

namespace tuff {

namespace {

// Deeper ones are bound by the product, which libraries do best.
constexpr int64_t kMaxDepth = 512;

bool all_are(const std::vector<int64_t>& values, int64_t value) {
  return std::all_of(values.begin(), values.end(), [=](int64_t v) { return v == value; });
}

// f32 [n, channels, spatial..] without gaps, the channels innermost.
bool is_channels_last(const StridedTensor& tensor) {
  int64_t step = tensor.sizes[1];
  bool dense = tensor.dtype == DType::kF32 && (tensor.sizes[1] == 1 || tensor.strides[1] == 1);
  auto follows = [&](size_t d) {
    dense = dense && (tensor.sizes[d] == 1 || tensor.strides[d] == step);
    step *= tensor.sizes[d];
  };
  for (size_t d = tensor.sizes.size(); d-- > 2;) follows(d);
  follows(0);
  return dense;
}

bool is_one_pass(const PostOpList& post_ops) {
  using With = PostOp::With;
  size_t i = 0, n = post_ops.size();
  while (i < n && post_ops[i].kind <= PostOp::Kind::kDivide &&
         (post_ops[i].with == With::kValue || post_ops[i].with == With::kScalar ||
          post_ops[i].with == With::kColumn))
    ++i;
  if (i < n && post_ops[i].kind == PostOp::Kind::kAdd && post_ops[i].with == With::kElement) ++i;
  if (i < n && post_ops[i].kind == PostOp::Kind::kMaximum && post_ops[i].with == With::kValue) ++i;
  return i == n;
}

}  // namespace

bool is_shallow_pointwise(const ConvolutionCall& call) {
  const StridedTensor& weights = call.weights;
  std::vector<int64_t> window(weights.sizes.begin() + 3, weights.sizes.end());
  return call.kind == ConvolutionCall::Kind::kForward && weights.dtype == DType::kF32 &&
         weights.sizes[0] == 1 && weights.sizes[2] <= kMaxDepth && all_are(window, 1) &&
         all_are(call.padding_low, 0) && all_are(call.padding_high, 0) &&
         is_channels_last(call.source) && is_channels_last(call.destination) &&
         is_one_pass(call.post_ops);
}

}  // namespace tuff
