#include <gmock/gmock.h>

#include "ir/evaluate/tolerances.h"
#include "tests/unit/evaluate/build.h"

namespace tuff::test {
namespace {

using testing::ElementsAre;

TEST(IntegerOps, WrapWithoutOverflow) {
  EXPECT_THAT(int_op(Op::kAdd, DType::kI8, {{127, -128, 1}, {1, -1, 2}}),
              ElementsAre(-128, 127, 3));
  EXPECT_THAT(int_op(Op::kSubtract, DType::kI32, {{INT32_MIN}, {1}}), ElementsAre(INT32_MAX));
  EXPECT_THAT(int_op(Op::kMultiply, DType::kI64, {{INT64_MAX}, {2}}), ElementsAre(-2));
  EXPECT_THAT(int_op(Op::kMultiply, DType::kU16, {{65535}, {65535}}), ElementsAre(1));
  EXPECT_THAT(int_op(Op::kNegate, DType::kI64, {{INT64_MIN, 5}}), ElementsAre(INT64_MIN, -5));
  EXPECT_THAT(int_op(Op::kAbs, DType::kI8, {{-128, -3}}), ElementsAre(-128, 3));
}

TEST(IntegerOps, DivisionCornersAreXlas) {
  EXPECT_THAT(int_op(Op::kDivide, DType::kI32, {{7, -7, 7, INT32_MIN}, {2, 2, 0, -1}}),
              ElementsAre(3, -3, -1, INT32_MIN));
  EXPECT_THAT(int_op(Op::kRemainder, DType::kI32, {{7, -7, 7, INT32_MIN}, {3, 3, 0, -1}}),
              ElementsAre(1, -1, 7, 0));
  EXPECT_THAT(int_op(Op::kDivide, DType::kU8, {{200, 7}, {7, 0}}), ElementsAre(28, 255));
}

TEST(IntegerOps, ShiftsPastTheWidth) {
  EXPECT_THAT(int_op(Op::kShiftLeft, DType::kI8, {{1, 1, 1, -1}, {6, 8, -1, 7}}),
              ElementsAre(64, 0, 0, -128));
  EXPECT_THAT(int_op(Op::kShiftRightLogical, DType::kI8, {{-128, -1, -1}, {7, 8, 1}}),
              ElementsAre(1, 0, 127));
  EXPECT_THAT(int_op(Op::kShiftRightArithmetic, DType::kI8, {{-128, -1, 64, -128}, {7, 9, 8, 1}}),
              ElementsAre(-1, -1, 0, -64));
}

TEST(IntegerOps, PowerCountsAndSigns) {
  EXPECT_THAT(
      int_op(Op::kPower, DType::kI32, {{3, -2, 1, -1, -1, 2, 0, 2}, {4, 3, -5, -5, -4, -1, 0, 40}}),
      ElementsAre(81, -8, 1, -1, 1, 0, 1, 0));
  EXPECT_THAT(int_op(Op::kPopcnt, DType::kI8, {{-1, 0, 5}}), ElementsAre(8, 0, 2));
  EXPECT_THAT(int_op(Op::kCountLeadingZeros, DType::kU16, {{0, 1, 65535}}), ElementsAre(16, 15, 0));
  EXPECT_THAT(int_op(Op::kSign, DType::kI16, {{-7, 0, 9}}), ElementsAre(-1, 0, 1));
  EXPECT_THAT(int_op(Op::kNot, DType::kBool, {{0, 1}}), ElementsAre(1, 0));
  EXPECT_THAT(int_op(Op::kAdd, DType::kBool, {{0, 1, 1}, {0, 0, 1}}), ElementsAre(0, 1, 1));
}

TEST(FloatOps, NanAndSignedZero) {
  EXPECT_THAT(float_op(Op::kMaximum, DType::kF32, {{1, kNaN, 1, -0.0}, {2, 1, kNaN, 0.0}}),
              ElementsAre(2, testing::IsNan(), testing::IsNan(), 0));
  EXPECT_FALSE(std::signbit(float_op(Op::kMaximum, DType::kF32, {{-0.0}, {0.0}})[0]));
  EXPECT_TRUE(std::signbit(float_op(Op::kMinimum, DType::kF32, {{0.0}, {-0.0}})[0]));
  EXPECT_THAT(float_op(Op::kSign, DType::kBF16, {{-2, 0, 3, kNaN}}),
              ElementsAre(-1, 0, 1, testing::IsNan()));
  EXPECT_TRUE(std::signbit(float_op(Op::kNegate, DType::kF16, {{0.0}})[0]));
}

TEST(FloatOps, RoundToTheType) {
  // 2048 + 1 is a tie in f16 (spacing 2): to even.
  EXPECT_THAT(float_op(Op::kAdd, DType::kF16, {{2048, 2050}, {1, 1}}), ElementsAre(2048, 2052));
  EXPECT_THAT(float_op(Op::kAdd, DType::kBF16, {{256}, {1}}), ElementsAre(256));
  EXPECT_THAT(float_op(Op::kMultiply, DType::kF16, {{60000}, {2}}), ElementsAre(kInf));
  EXPECT_THAT(float_op(Op::kExponential, DType::kF32, {{1}}),
              ElementsAre(static_cast<double>(std::exp(1.0f))));
}

TEST(FloatOps, Rounding) {
  EXPECT_THAT(float_op(Op::kRoundNearestEven, DType::kF32, {{-2.5, 0.5, 1.5, 2.5}}),
              ElementsAre(-2, 0, 2, 2));
  EXPECT_THAT(float_op(Op::kRoundNearestAfz, DType::kF32, {{-2.5, 0.5, 1.5}}),
              ElementsAre(-3, 1, 2));
  EXPECT_THAT(float_op(Op::kRemainder, DType::kF32, {{17.1, -17, 5}, {3, 3, kInf}}),
              ElementsAre(testing::DoubleNear(2.1, tolerance("remainder")), -2, 5));
}

TEST(FloatOps, ReducePrecision) {
  // StableHLO's example: f64 to 5 exponent and 10 mantissa bits.
  Literal operand =
      Literal::from_doubles(DType::kF64, {6}, {kInf, 0, 5.0, 1.000000001, 65520, 1e-9});
  Node reduce = node(Op::kReducePrecision, {operand.type()},
                     ReducePrecisionAttrs{.exponent_bits = 5, .mantissa_bits = 10});
  EXPECT_THAT(to_doubles(run(reduce, {operand})), ElementsAre(kInf, 0, 5, 1, kInf, 0));
}

TEST(Select, TakesScalarPredicates) {
  Node select = node(Op::kSelect, {{DType::kI32, {2}}});
  Literal a = i32({2}, {1, 2}), b = i32({2}, {3, 4});
  EXPECT_THAT(to_ints(run(select, {ints(DType::kBool, {}, {1}), a, b})), ElementsAre(1, 2));
  EXPECT_THAT(to_ints(run(select, {ints(DType::kBool, {2}, {0, 1}), a, b})), ElementsAre(3, 2));
}

TEST(Clamp, TakesScalarBoundsAndPropagatesNan) {
  Node clamp = node(Op::kClamp, {{DType::kF32, {4}}});
  EXPECT_THAT(to_doubles(run(clamp, {f32({}, {5}), f32({4}, {3, 13, 23, kNaN}), f32({}, {15})})),
              ElementsAre(5, 13, 15, testing::IsNan()));
}

TEST(Compare, FloatAndTotalOrder) {
  using Direction = ComparisonDirection;
  auto compare = [](Direction direction, CompareType type, Doubles a, Doubles b) {
    Shape shape{static_cast<int64_t>(a.size())};
    return to_ints(run(node(Op::kCompare, {{DType::kBool, shape}},
                            CompareAttrs{.comparison_direction = direction, .compare_type = type}),
                       {f32(shape, a), f32(shape, b)}));
  };
  EXPECT_THAT(compare(Direction::kLt, CompareType::kFloat, {1, 3, kNaN}, {2, 2, 1}),
              ElementsAre(1, 0, 0));
  EXPECT_THAT(compare(Direction::kNe, CompareType::kFloat, {kNaN, -0.0}, {kNaN, 0.0}),
              ElementsAre(1, 0));
  EXPECT_THAT(compare(Direction::kLt, CompareType::kTotalOrder, {-0.0, kInf, -kNaN, kNaN},
                      {0.0, kNaN, -kInf, kInf}),
              ElementsAre(1, 1, 1, 0));
}

TEST(Elementwise, RefusesUndefinedTypes) {
  auto result = evaluate_node(node(Op::kCosine, {{DType::kI32, {1}}}), {i32({1}, {1})});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
}

TEST(Elementwise, EmptyTensors) { EXPECT_TRUE(float_op(Op::kAdd, DType::kF32, {{}, {}}).empty()); }

}  // namespace
}  // namespace tuff::test
