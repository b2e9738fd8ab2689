#include <gmock/gmock.h>

#include "tests/unit/evaluate/build.h"

namespace tuff::test {
namespace {

using testing::ElementsAre;

Node dot(TensorType type, Ints lhs_batch, Ints rhs_batch, Ints lhs_contract, Ints rhs_contract) {
  return node(Op::kDotGeneral, {std::move(type)},
              DotGeneralAttrs{.lhs_batching_dimensions = lhs_batch,
                              .rhs_batching_dimensions = rhs_batch,
                              .lhs_contracting_dimensions = lhs_contract,
                              .rhs_contracting_dimensions = rhs_contract});
}

TEST(DotGeneral, SpecExample) {
  Literal lhs = i64({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
          rhs = i64({2, 2, 2}, {1, 0, 0, 1, 1, 0, 0, 1});
  EXPECT_THAT(to_ints(run(dot({DType::kI64, {2, 2, 2}}, {0}, {0}, {2}, {1}), {lhs, rhs})),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(DotGeneral, NarrowIntegersIntoWide) {
  Literal lhs = ints(DType::kI8, {1, 3}, {127, -128, 127}),
          rhs = ints(DType::kI8, {3, 1}, {127, -128, 127});
  EXPECT_THAT(to_ints(run(dot({DType::kI32, {1, 1}}, {}, {}, {1}, {0}), {lhs, rhs})),
              ElementsAre(127 * 127 * 2 + 128 * 128));
}

TEST(DotGeneral, BlockEdgesAndFreeDimensionOrder) {
  // Sizes around the block sizes (128, 256, 128), rhs contracted on its last dimension.
  int64_t m = 131, k = 257, n = 263;
  Literal lhs({DType::kF32, {m, k}}), rhs({DType::kF32, {n, k}});
  for (int64_t i = 0; i < m * k; ++i) lhs.set_double(i, static_cast<double>(i % 7 - 3));
  for (int64_t i = 0; i < n * k; ++i) rhs.set_double(i, static_cast<double>(i % 5 - 2));
  Literal result = run(dot({DType::kF32, {m, n}}, {}, {}, {1}, {1}), {lhs, rhs});
  for (auto [row, column] :
       {std::pair<int64_t, int64_t>{0, 0}, {130, 262}, {127, 256}, {128, 255}}) {
    double sum = 0;
    for (int64_t i = 0; i < k; ++i)
      sum += lhs.get_double(row * k + i) * rhs.get_double(column * k + i);
    EXPECT_EQ(result.get_double(row * n + column), sum);
  }
}

TEST(DotGeneral, NothingToContract) {
  EXPECT_THAT(to_doubles(run(dot({DType::kF32, {2, 1}}, {}, {}, {1}, {0}),
                             {f32({2, 0}, {}), f32({0, 1}, {})})),
              ElementsAre(0, 0));
  EXPECT_THAT(to_doubles(run(dot({DType::kF32, {2, 2}}, {}, {}, {}, {}),
                             {f32({2}, {1, 2}), f32({2}, {3, 4})})),
              ElementsAre(3, 4, 6, 8));
  EXPECT_THAT(to_ints(run(dot({DType::kBool, {}}, {}, {}, {0}, {0}),
                          {ints(DType::kBool, {2}, {1, 1}), ints(DType::kBool, {2}, {0, 1})})),
              ElementsAre(1));
}

// NHWC x HWIO -> NHWC, 2-d.
Node conv(TensorType type, ConvolutionAttrs attrs) {
  attrs.input_batch_dimension = attrs.output_batch_dimension = 0;
  attrs.input_feature_dimension = attrs.output_feature_dimension = 3;
  attrs.kernel_input_feature_dimension = 2;
  attrs.kernel_output_feature_dimension = 3;
  attrs.input_spatial_dimensions = attrs.output_spatial_dimensions = {1, 2};
  attrs.kernel_spatial_dimensions = {0, 1};
  return node(Op::kConvolution, {std::move(type)}, std::move(attrs));
}

TEST(Convolution, SpecExample) {
  Literal lhs = i64({1, 4, 4, 1}, {1, 2, 5, 6, 3, 4, 7, 8, 10, 11, 14, 15, 12, 13, 16, 17});
  Literal rhs = i64({3, 3, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1});
  Node op = conv({DType::kI64, {1, 2, 2, 1}}, ConvolutionAttrs{.window_strides = {4, 4},
                                                               .padding = {0, 0, 0, 0},
                                                               .lhs_dilation = {2, 2},
                                                               .rhs_dilation = {1, 1},
                                                               .window_reversal = {0, 0}});
  EXPECT_THAT(to_ints(run(op, {lhs, rhs})), ElementsAre(10, 26, 46, 62));
}

TEST(Convolution, PaddingStridesAndReversal) {
  Literal lhs = i64({1, 1, 3, 1}, {1, 2, 3}), rhs = i64({1, 2, 1, 1}, {10, 1});
  Node plain = conv({DType::kI64, {1, 1, 4, 1}}, ConvolutionAttrs{.padding = {0, 0, 1, 1}});
  EXPECT_THAT(to_ints(run(plain, {lhs, rhs})), ElementsAre(1, 12, 23, 30));
  Node reversed = conv({DType::kI64, {1, 1, 4, 1}},
                       ConvolutionAttrs{.padding = {0, 0, 1, 1}, .window_reversal = {0, 1}});
  EXPECT_THAT(to_ints(run(reversed, {lhs, rhs})), ElementsAre(10, 21, 32, 3));
  Node strided = conv({DType::kI64, {1, 1, 2, 1}},
                      ConvolutionAttrs{.window_strides = {1, 2}, .padding = {0, 0, 1, 1}});
  EXPECT_THAT(to_ints(run(strided, {lhs, rhs})), ElementsAre(1, 23));
  Node cropped = conv({DType::kI64, {1, 1, 1, 1}}, ConvolutionAttrs{.padding = {0, 0, -1, 0}});
  EXPECT_THAT(to_ints(run(cropped, {lhs, rhs})), ElementsAre(23));
}

TEST(Convolution, Groups) {
  // Depthwise: feature f of the input meets kernel feature f.
  Literal lhs = i64({1, 1, 2, 2}, {1, 10, 2, 20}), rhs = i64({1, 2, 1, 2}, {1, 3, 2, 4});
  Node depthwise = conv({DType::kI64, {1, 1, 1, 2}}, ConvolutionAttrs{.feature_group_count = 2});
  EXPECT_THAT(to_ints(run(depthwise, {lhs, rhs})), ElementsAre(1 * 1 + 2 * 2, 10 * 3 + 20 * 4));
  // Batch groups: image g meets kernel feature g.
  Literal images = i64({2, 1, 2, 1}, {1, 2, 10, 20});
  Node batched = conv({DType::kI64, {1, 1, 1, 2}}, ConvolutionAttrs{.batch_group_count = 2});
  EXPECT_THAT(to_ints(run(batched, {images, rhs})), ElementsAre(1 * 1 + 2 * 2, 10 * 3 + 20 * 4));
}

}  // namespace
}  // namespace tuff::test
