// Contractions of values that are there (contraction.h has those with operands of their own).
#include <algorithm>

#include "tests/fuzz/graph_builder.h"

namespace tuff::fuzz {

namespace {

void add_dot(GraphBuilder& b, Value x) {
  if (b.shape(x).empty()) return;
  auto d = b.pick(static_cast<int64_t>(b.shape(x).size()));
  int64_t size = b.shape(x)[static_cast<size_t>(d)];
  auto has = [&](Value v) {
    return b.type(v).dtype == b.type(x).dtype &&
           std::count(b.shape(v).begin(), b.shape(v).end(), size) > 0;
  };
  auto y = b.find(has);
  // Or integers of eight bits, converted for the product, which a load may do.
  auto is_narrow = [&](Value v) {
    return b.type(v).dtype == DType::kI8 &&
           std::count(b.shape(v).begin(), b.shape(v).end(), size) > 0;
  };
  std::optional<Value> narrow;
  if (b.type(x).dtype == DType::kF32 && b.chance(2)) narrow = b.find(is_narrow);
  auto left = b.summable(x);
  auto right = narrow ? b.add(Op::kConvert, {*narrow}, {}, {DType::kF32, b.shape(*narrow)})
               : y    ? b.summable(*y)
                      : std::nullopt;
  if (!left || !right) return;
  const Shape& to = b.shape(*right);
  int64_t e = std::find(to.begin(), to.end(), size) - to.begin();
  DotGeneralAttrs attrs{.lhs_contracting_dimensions = {d}, .rhs_contracting_dimensions = {e}};
  // A leading dimension that both have is a batch.
  if (d > 0 && e > 0 && b.shape(x)[0] == to[0]) {
    attrs.lhs_batching_dimensions = {0};
    attrs.rhs_batching_dimensions = {0};
  }
  b.add(Op::kDotGeneral, {*left, *right}, attrs, {b.type(x).dtype, {}});
}

void add_convolution(GraphBuilder& b, Value x) {
  DType dtype = b.type(x).dtype;
  auto rank = static_cast<int64_t>(b.shape(x).size());
  auto input = b.summable(x);
  if (rank < 2 || dtype == DType::kBool || !input) return;
  int64_t groups = b.chance(4) ? b.shape(x).back() : 1;
  if (b.shape(x).back() == 0) return;
  Shape taps = {b.shape(x).back() / groups, groups * (1 + b.pick(3))};
  Ints spatial, taps_spatial, padding, strides, lhs, rhs, reversal;
  for (int64_t d = 1; d + 1 < rank; ++d) {
    spatial.push_back(d);
    taps_spatial.push_back(static_cast<int64_t>(taps.size()));
    taps.push_back(1 + b.pick(3));
    padding.push_back(b.pick(3));
    padding.push_back(b.pick(3));
    strides.push_back(1 + b.pick(2));
    lhs.push_back(b.chance(4) ? 2 : 1);
    rhs.push_back(b.chance(4) ? 2 : 1);
    reversal.push_back(b.chance(4));
  }
  Literal weights({dtype, taps});
  for (int64_t i = 0; i < weights.num_elements(); ++i)
    weights.set_double(i, static_cast<double>(b.pick(3)));
  ConvolutionAttrs attrs{.input_spatial_dimensions = spatial,
                         .kernel_spatial_dimensions = taps_spatial,
                         .output_spatial_dimensions = spatial,
                         .window_strides = strides,
                         .padding = padding,
                         .lhs_dilation = lhs,
                         .rhs_dilation = rhs,
                         .window_reversal = reversal};
  attrs.input_batch_dimension = 0;
  attrs.input_feature_dimension = rank - 1;
  attrs.kernel_input_feature_dimension = 0;
  attrs.kernel_output_feature_dimension = 1;
  attrs.output_batch_dimension = 0;
  attrs.output_feature_dimension = rank - 1;
  attrs.feature_group_count = groups;
  b.add(Op::kConvolution, {*input, b.constant(std::move(weights))}, attrs, {dtype, {}});
}

}  // namespace

void step_contraction(GraphBuilder& b, Op op) {
  Value x = b.any();
  return op == Op::kDotGeneral ? add_dot(b, x) : add_convolution(b, x);
}

}  // namespace tuff::fuzz
