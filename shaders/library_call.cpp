#include "shaders/library_call.h"

#include <algorithm>

namespace tuff {

int64_t ByteProductCall::num_rows() const {
  int64_t count = 1;
  for (const Rows& dim : rows) count *= dim.size;
  for (const Window& window : windows) count *= window.results;
  return count;
}

int64_t ByteProductCall::num_steps() const {
  int64_t count = depth;
  for (const Window& window : windows) count *= window.size;
  return count;
}

// One operation for each kind that has a y, in the kinds' order.
static_assert(std::size(kPostOpOps) == static_cast<size_t>(PostOp::Kind::kGeluErf));
static_assert(kPostOpOps[static_cast<size_t>(PostOp::Kind::kMaximum)] == Op::kMaximum);

namespace {

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

// How long Winograd's tiles of `side` results take, in direct sums' multiplications per pair of
// channels; side 1: those direct sums themselves. Weights are read once from memory, at
// kMemory multiplications a float; each transformed pixel of a channel costs kTransform.
double winograd_cost(const ConvolutionCall& call, int64_t side) {
  constexpr double kMemory = 20, kTransform = 10;
  auto tiles = static_cast<double>(call.destination.sizes[0]);
  for (size_t d = 2; d < 4; ++d)
    tiles *= static_cast<double>((call.destination.sizes[d] + side - 1) / side);
  auto points = static_cast<double>((side + 2) * (side + 2));
  double transforms = side == 1 ? 0
                                : 1 / static_cast<double>(call.source.sizes[1]) +
                                      1 / static_cast<double>(call.destination.sizes[1]);
  return points * (tiles * (1 + kTransform * transforms) + kMemory);
}

bool allows_winograd(const ConvolutionCall& call) {
  const StridedTensor& weights = call.weights;
  return call.kind == ConvolutionCall::Kind::kForward && weights.dtype == DType::kF32 &&
         weights.sizes.size() == 5 && weights.sizes[0] == 1 && weights.sizes[3] == 3 &&
         weights.sizes[4] == 3 && all_are(call.strides, 1) && all_are(call.dilations, 1) &&
         is_channels_last(call.source) && is_channels_last(call.destination) &&
         is_one_pass(call.post_ops) && !call.only_direct;
}

}  // namespace

bool is_one_pass(const PostOpList& post_ops) {
  using With = PostOp::With;
  size_t i = 0, n = post_ops.size();
  while (i < n && post_ops[i].kind <= PostOp::Kind::kDivide &&
         (post_ops[i].with == With::kValue || post_ops[i].with == With::kScalar ||
          post_ops[i].with == With::kColumn))
    ++i;
  if (i < n && post_ops[i].kind == PostOp::Kind::kAdd && post_ops[i].with == With::kElement) ++i;
  if (i + 1 == n && is_function(post_ops[i])) return true;
  for (PostOp::Kind bound : {PostOp::Kind::kMaximum, PostOp::Kind::kMinimum})
    if (i < n && post_ops[i].kind == bound && post_ops[i].with == With::kValue) ++i;
  return i == n;
}

bool is_pointwise(const ConvolutionCall& call) {
  const StridedTensor& weights = call.weights;
  std::vector<int64_t> window(weights.sizes.begin() + 3, weights.sizes.end());
  return call.kind == ConvolutionCall::Kind::kForward && weights.dtype == DType::kF32 &&
         weights.sizes[0] == 1 && all_are(window, 1) && all_are(call.padding_low, 0) &&
         all_are(call.padding_high, 0) && is_channels_last(call.source) &&
         is_channels_last(call.destination) && is_one_pass(call.post_ops);
}

bool is_depthwise(const ConvolutionCall& call) {
  constexpr int64_t kMinChannels = 8;
  const StridedTensor& weights = call.weights;
  return call.kind == ConvolutionCall::Kind::kForward && weights.dtype == DType::kF32 &&
         weights.sizes.size() == 5 && weights.sizes[0] >= kMinChannels && weights.sizes[1] == 1 &&
         weights.sizes[2] == 1 && is_channels_last(call.source) &&
         is_channels_last(call.destination) && is_one_pass(call.post_ops);
}

int64_t winograd_tile(const ConvolutionCall& call) {
  if (!allows_winograd(call) || num_elements(call.destination.sizes) == 0) return 0;
  constexpr double kGain = 0.8;  // of the direct sums' time, at most
  double least = kGain * winograd_cost(call, 1);
  int64_t best = 0;
  for (int64_t side : {2, 4})
    if (double cost = winograd_cost(call, side); cost < least) least = cost, best = side;
  return best;
}

bool takes_bounds(const ConvolutionCall& call) {
  return is_pointwise(call) || is_depthwise(call) || winograd_tile(call) > 0 || ends_in_gate(call);
}

bool ends_in_gate(const ConvolutionCall& call) {
  auto is_bound = [](const PostOp& op) {
    return op.kind == PostOp::Kind::kMaximum || op.kind == PostOp::Kind::kMinimum;
  };
  return call.kind == ConvolutionCall::Kind::kForward && call.destination.dtype == DType::kF32 &&
         is_channels_last(call.destination) && !call.post_ops.empty() &&
         is_gate(call.post_ops.back()) &&
         std::none_of(call.post_ops.begin(), call.post_ops.end(), is_bound);
}

}  // namespace tuff
