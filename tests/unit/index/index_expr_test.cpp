// The index algebra, checked exhaustively: every simplified expression must have
// the value of the unsimplified one at every point of a small space.
#include "ir/index/index_expr.h"

#include <gtest/gtest.h>

#include <functional>

namespace tuff {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// An expression and what it must be worth.
struct Checked {
  IndexExpr e;
  std::function<int64_t(int64_t i, int64_t j, int64_t k)> value;
};

class Algebra : public ::testing::Test {
 protected:
  static constexpr int64_t kI = 7, kJ = 6, kK = 5;
  IndexContext context_;
  IndexExpr i_ = context_.symbol("i", 0, kI - 1);
  IndexExpr j_ = context_.symbol("j", 0, kJ - 1);
  IndexExpr k_ = context_.symbol("k", 0, kK - 1);

  void check(const Checked& c) {
    IndexRange range = context_.range(c.e);
    for (int64_t i = 0; i < kI; ++i)
      for (int64_t j = 0; j < kJ; ++j)
        for (int64_t k = 0; k < kK; ++k) {
          int64_t got = context_.evaluate(
              c.e, {{i_.terms[0].first, i}, {j_.terms[0].first, j}, {k_.terms[0].first, k}});
          ASSERT_EQ(got, c.value(i, j, k))
              << context_.to_string(c.e) << " at " << i << " " << j << " " << k;
          ASSERT_LE(range.low, got) << context_.to_string(c.e);
          ASSERT_GE(range.high, got) << context_.to_string(c.e);
        }
  }
};

TEST_F(Algebra, DivisionsOfAllSmallAffineSums) {
  for (int64_t a : {-3, 0, 1, 2, 6, 12})
    for (int64_t b : {0, 1, 3, 4})
      for (int64_t c : {-5, 0, 1, 7})
        for (int64_t divisor : {1, 2, 3, 4, 6, 12}) {
          IndexExpr sum = i_ * a + j_ * b + c;
          auto value = [=](int64_t i, int64_t j, int64_t) { return a * i + b * j + c; };
          check({context_.floor_div(sum, divisor),
                 [=](auto i, auto j, auto k) { return floor_div(value(i, j, k), divisor); }});
          check({context_.mod(sum, divisor), [=](auto i, auto j, auto k) {
                   return value(i, j, k) - divisor * floor_div(value(i, j, k), divisor);
                 }});
        }
}

TEST_F(Algebra, NestedDivisionsAndRemainders) {
  IndexExpr flat = i_ * 30 + j_ * 5 + k_;
  auto value = [](int64_t i, int64_t j, int64_t k) { return 30 * i + 5 * j + k; };
  for (int64_t a : {2, 3, 5, 7, 10, 30})
    for (int64_t b : {2, 4, 5, 9}) {
      check({context_.floor_div(context_.floor_div(flat, a), b),
             [=](auto i, auto j, auto k) { return value(i, j, k) / a / b; }});
      check({context_.mod(context_.floor_div(flat, a), b),
             [=](auto i, auto j, auto k) { return value(i, j, k) / a % b; }});
      check({context_.floor_div(context_.mod(flat, a), b),
             [=](auto i, auto j, auto k) { return value(i, j, k) % a / b; }});
      check({context_.mod(context_.mod(flat, a) * 3 + j_, b),
             [=](auto i, auto j, auto k) { return (value(i, j, k) % a * 3 + j) % b; }});
    }
}

TEST_F(Algebra, DelinearizeUndoesLinearize) {
  std::vector<IndexExpr> index = {i_, j_, k_};
  IndexExpr flat = linearize(index, {kI, kJ, kK});
  EXPECT_EQ(delinearize(context_, flat, {kI, kJ, kK}), index);
}

TEST_F(Algebra, ReshapeThereAndBackIsNothing) {
  IndexExpr flat = context_.symbol("flat", 0, 7 * 6 * 5 - 1);
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{7, 6, 5}, {42, 5}, {2, 3, 5, 7}, {210}, {1, 210, 1}})
    EXPECT_EQ(linearize(delinearize(context_, flat, shape), shape), flat);
}

// The leading dimension, though its size is 1, keeps its variable through reshapes.
TEST_F(Algebra, AnOpenLeadingDimensionTakesWhatIsBeyondTheShape) {
  IndexExpr batch = context_.open_symbol("batch");
  std::vector<IndexExpr> index = {batch, i_, j_};
  IndexExpr flat = linearize(index, {1, kI, kJ});
  EXPECT_EQ(delinearize(context_, flat, {1, kI, kJ}), index);
  EXPECT_EQ(delinearize(context_, flat, {kI, kJ})[0], batch * kI + i_);
}

TEST_F(Algebra, EqualDivisionsAreOneAtom) {
  EXPECT_EQ(context_.floor_div(i_ + j_, 4), context_.floor_div(j_ + i_, 4));
}

// Blocks of 384 of images of 224 x 224 x 3: what is multiplied by 3 and what is not meet again.
TEST_F(Algebra, AQuotientHasOneFormHoweverItWasComeBy) {
  IndexExpr lane = context_.symbol("lane", 0, 383);
  IndexExpr flat = i_ * 384 + lane;
  EXPECT_EQ(context_.floor_div(i_ * 128 + context_.floor_div(lane, 3), 224),
            context_.floor_div(flat, 672));
  const std::vector<int64_t> shape{4, 1, 224, 3};
  EXPECT_EQ(linearize(delinearize(context_, flat, shape), shape), flat);
}

// A numerator of more than 32 bits is not made.
TEST_F(Algebra, AQuotientStaysWhereItsNumeratorWouldBeTooWide) {
  IndexExpr far = context_.symbol("far", 0, int64_t{1} << 30);
  IndexExpr sum = far + context_.floor_div(i_ + j_, 4);
  const uint32_t atom = context_.floor_div(sum, 5).terms[0].first;
  EXPECT_EQ(context_.atom(atom).numerator, sum);
}

TEST_F(Algebra, SubstitutionSimplifiesAnew) {
  IndexExpr quotient = context_.floor_div(i_ + j_ * 2, 4);
  IndexExpr result = context_.substitute(
      quotient, {{i_.terms[0].first, k_ * 4}, {j_.terms[0].first, IndexExpr(2)}});
  EXPECT_EQ(result, k_ + 1);
}

TEST_F(Algebra, ConditionsAreDecidedByRange) {
  using Kind = IndexCondition::Kind;
  EXPECT_EQ(truth(context_, {i_, Kind::kNonNegative}), Truth::kAlways);
  EXPECT_EQ(truth(context_, {i_ - 7, Kind::kNonNegative}), Truth::kNever);
  EXPECT_EQ(truth(context_, {i_ - 3, Kind::kNonNegative}), Truth::kSometimes);
  EXPECT_EQ(truth(context_, {context_.mod(i_ * 6, 3), Kind::kZero}), Truth::kAlways);
  EXPECT_EQ(truth(context_, {i_ + 1, Kind::kZero}), Truth::kNever);
}

TEST_F(Algebra, OneValuedSymbolIsAConstant) {
  EXPECT_TRUE(context_.symbol("unit", 0, 0).is_constant());
}

}  // namespace
}  // namespace tuff
