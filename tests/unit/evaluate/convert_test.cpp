#include <gmock/gmock.h>

#include "tests/unit/evaluate/build.h"

namespace tuff::test {
namespace {

using testing::ElementsAre;

Literal convert(const Literal& literal, DType to) {
  return run(node(Op::kConvert, {{to, literal.type().shape}}), {literal});
}

TEST(Convert, FloatToIntegerSaturates) {
  Literal from = f32({6}, {1.9, -1.9, 300, -300, kNaN, kInf});
  EXPECT_THAT(to_ints(convert(from, DType::kI8)), ElementsAre(1, -1, 127, -128, 0, 127));
  EXPECT_THAT(to_ints(convert(from, DType::kU8)), ElementsAre(1, 0, 255, 0, 0, 255));
  EXPECT_THAT(to_ints(convert(f32({2}, {9.3e18, -9.3e18}), DType::kI64)),
              ElementsAre(INT64_MAX, INT64_MIN));
  EXPECT_EQ(static_cast<uint64_t>(to_ints(convert(f32({1}, {1e20}), DType::kU64))[0]), UINT64_MAX);
}

TEST(Convert, IntegersWrap) {
  EXPECT_THAT(to_ints(convert(i32({3}, {300, -1, 65536}), DType::kI8)), ElementsAre(44, -1, 0));
  EXPECT_THAT(to_ints(convert(i32({1}, {-1}), DType::kU16)), ElementsAre(65535));
}

TEST(Convert, ToBoolIsNotZero) {
  EXPECT_THAT(to_ints(convert(f32({4}, {0, -0.0, 0.1, kNaN}), DType::kBool)),
              ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(to_ints(convert(i32({2}, {0, 256}), DType::kBool)), ElementsAre(0, 1));
  EXPECT_THAT(to_doubles(convert(ints(DType::kBool, {2}, {0, 1}), DType::kF16)), ElementsAre(0, 1));
}

TEST(Convert, RoundsOnce) {
  // Just above the tie between two f16 values; through f32 it would become the tie.
  double above = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_THAT(to_doubles(convert(Literal::from_doubles(DType::kF64, {1}, {above}), DType::kF16)),
              ElementsAre(1.0 + 0x1p-10));
  // The same for an integer wider than a double's mantissa: 2^62 + 2^54 ties in bf16.
  int64_t tie = (int64_t{1} << 62) + (int64_t{1} << 54);
  EXPECT_THAT(to_doubles(convert(i64({2}, {tie, tie + 1}), DType::kBF16)),
              ElementsAre(0x1p62, 0x1p62 + 0x1p55));
}

TEST(Convert, SixteenBitRangeEnds) {
  EXPECT_THAT(to_doubles(convert(f32({5}, {65504, 65519, 65520, 0x1p-24, 0x1p-25}), DType::kF16)),
              ElementsAre(65504, 65504, kInf, 0x1p-24, 0));
  EXPECT_THAT(to_doubles(convert(f32({2}, {3.3895e38, 3.4e38}), DType::kBF16)),
              ElementsAre(testing::Gt(3.38e38), kInf));
}

TEST(BitcastConvert, MovesBitsAcrossWidths) {
  Literal wide = ints(DType::kU32, {2}, {0x01020304, 0x0A0B0C0D});
  Literal narrow = run(node(Op::kBitcastConvert, {{DType::kU8, {2, 4}}}), {wide});
  EXPECT_THAT(to_ints(narrow), ElementsAre(4, 3, 2, 1, 13, 12, 11, 10));
  EXPECT_EQ(run(node(Op::kBitcastConvert, {wide.type()}), {narrow}), wide);
  EXPECT_THAT(to_ints(run(node(Op::kBitcastConvert, {{DType::kI32, {}}}), {f32({}, {1.0})})),
              ElementsAre(0x3f800000));
}

}  // namespace
}  // namespace tuff::test
