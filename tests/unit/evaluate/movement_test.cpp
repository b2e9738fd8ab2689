#include <gmock/gmock.h>

#include <cstring>

#include "tests/unit/evaluate/build.h"

namespace tuff::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const TensorType k2x3{DType::kI32, {2, 3}};

TEST(Iota, EveryTypeAndDimension) {
  EXPECT_THAT(to_ints(run(node(Op::kIota, {k2x3}, IotaAttrs{0}), {})),
              ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(to_doubles(run(node(Op::kIota, {{DType::kBF16, {3}}}, IotaAttrs{0}), {})),
              ElementsAre(0, 1, 2));
  EXPECT_THAT(to_ints(run(node(Op::kIota, {{DType::kI32, {0}}}, IotaAttrs{0}), {})), IsEmpty());
}

TEST(BroadcastInDim, SpecExample) {
  Node broadcast =
      node(Op::kBroadcastInDim, {{DType::kI32, {2, 3, 2}}}, BroadcastInDimAttrs{{2, 1}});
  EXPECT_THAT(to_ints(run(broadcast, {i32({1, 3}, {1, 2, 3})})),
              ElementsAre(1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3));
}

TEST(Transpose, SpecExample) {
  Literal operand = i32({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  Node transpose = node(Op::kTranspose, {{DType::kI32, {2, 3, 2}}}, TransposeAttrs{{2, 1, 0}});
  EXPECT_THAT(to_ints(run(transpose, {operand})),
              ElementsAre(1, 7, 3, 9, 5, 11, 2, 8, 4, 10, 6, 12));
}

TEST(Slice, StridesAndEmpty) {
  Literal operand = i32({3, 4}, {0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 2, 3});
  EXPECT_THAT(
      to_ints(
          run(node(Op::kSlice, {{DType::kI32, {2, 2}}},
                   SliceAttrs{.start_indices = {1, 2}, .limit_indices = {3, 4}, .strides = {1, 1}}),
              {operand})),
      ElementsAre(1, 1, 2, 3));
  EXPECT_THAT(
      to_ints(
          run(node(Op::kSlice, {{DType::kI32, {1, 2}}},
                   SliceAttrs{.start_indices = {2, 1}, .limit_indices = {3, 4}, .strides = {1, 2}}),
              {operand})),
      ElementsAre(0, 3));
}

TEST(Reverse, SpecExample) {
  Node reverse = node(Op::kReverse, {{DType::kI32, {3, 2}}}, DimensionsAttrs{{1}});
  EXPECT_THAT(to_ints(run(reverse, {i32({3, 2}, {1, 2, 3, 4, 5, 6})})),
              ElementsAre(2, 1, 4, 3, 6, 5));
}

Ints pad(const Literal& operand, Shape shape, Ints low, Ints interior) {
  return to_ints(run(node(Op::kPad, {{DType::kI32, shape}},
                          PadAttrs{.edge_padding_low = low, .interior_padding = interior}),
                     {operand, i32({}, {0})}));
}

TEST(Pad, SpecExample) {
  EXPECT_THAT(pad(i32({2, 3}, {1, 2, 3, 4, 5, 6}), {5, 9}, {0, 1}, {2, 1}),
              ElementsAre(0, 1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                          0, 0, 0, 4, 0, 5, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(Pad, NegativeEdgesCropInteriorToo) {
  // 1 _ 2 _ 3 without its first and last position: _ 2 _.
  EXPECT_THAT(pad(i32({3}, {1, 2, 3}), {3}, {-1}, {1}), ElementsAre(0, 2, 0));
  EXPECT_THAT(pad(i32({3}, {1, 2, 3}), {1}, {-2}, {0}), ElementsAre(3));
  EXPECT_THAT(pad(i32({2}, {1, 2}), {2}, {-5}, {0}), ElementsAre(0, 0));
  EXPECT_THAT(pad(i32({2}, {1, 2}), {2}, {4}, {0}), ElementsAre(0, 0));
  EXPECT_THAT(pad(i32({0}, {}), {2}, {1}, {0}), ElementsAre(0, 0));
}

TEST(Concatenate, WithAnEmptyOperand) {
  Node concatenate = node(Op::kConcatenate, {{DType::kI32, {2, 3}}}, ConcatenateAttrs{1});
  EXPECT_THAT(
      to_ints(run(concatenate, {i32({2, 2}, {1, 2, 4, 5}), i32({2, 0}, {}), i32({2, 1}, {3, 6})})),
      ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Reshape, KeepsOrder) {
  EXPECT_THAT(
      to_ints(run(node(Op::kReshape, {{DType::kI32, {3, 2}}}), {i32({2, 3}, {1, 2, 3, 4, 5, 6})})),
      ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Movement, UnalignedViewsAreRead) {
  auto bytes = std::make_shared<std::vector<std::byte>>(9);
  int32_t values[2] = {7, 9};
  std::memcpy(bytes->data() + 1, values, 8);
  Literal view({DType::kI32, {2}}, bytes->data() + 1, bytes);
  EXPECT_THAT(to_ints(run(node(Op::kNegate, {{DType::kI32, {2}}}), {view})), ElementsAre(-7, -9));
}

}  // namespace
}  // namespace tuff::test
