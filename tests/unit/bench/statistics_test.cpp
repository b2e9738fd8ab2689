#include "frontend/bench/statistics.h"

#include <gtest/gtest.h>

namespace tuff::bench {
namespace {

TEST(Summary, QuantilesLieBetweenSamples) {
  Summary s = summarize({4, 1, 3, 2});
  EXPECT_EQ(s.n, 4);
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_DOUBLE_EQ(s.median, 2.5);
  EXPECT_DOUBLE_EQ(s.p90, 3.7);
  EXPECT_DOUBLE_EQ(s.p99, 3.97);
}

TEST(Summary, OneSample) {
  Summary s = summarize({7});
  EXPECT_DOUBLE_EQ(s.median, 7);
  EXPECT_DOUBLE_EQ(s.p99, 7);
}

TEST(Ratio, OfConstantsHasNoWidth) {
  Interval r = ratio_of_medians({{2, 2}, {2}, {2}}, {{4}, {4}, {4, 4}});
  EXPECT_DOUBLE_EQ(r.value, 0.5);
  EXPECT_DOUBLE_EQ(r.low, 0.5);
  EXPECT_DOUBLE_EQ(r.high, 0.5);
}

TEST(Ratio, IntervalHoldsTheValueAndRepeats) {
  Bursts a = {{10, 11}, {12, 10}, {30}, {11}, {10.5}}, b = {{5}, {5.2}, {5.1}, {9}, {5}};
  Interval r = ratio_of_medians(a, b), again = ratio_of_medians(a, b);
  EXPECT_LT(r.low, r.value);
  EXPECT_GT(r.high, r.value);
  EXPECT_EQ(r.low, again.low);
  EXPECT_EQ(r.high, again.high);
}

TEST(Ratio, DriftThatHitsBothCancels) {
  // Rounds get slower for both alike, so resampling rounds leaves the ratio alone.
  Interval r = ratio_of_medians({{1}, {2}, {4}, {8}, {16}}, {{2}, {4}, {8}, {16}, {32}});
  EXPECT_DOUBLE_EQ(r.low, 0.5);
  EXPECT_DOUBLE_EQ(r.high, 0.5);
}

TEST(Ratio, RoundsThatOnlyOneHasDoNotCount) {
  Interval r = ratio_of_medians({{2}, {2}}, {{1}, {1}, {100}, {100}, {100}});
  EXPECT_DOUBLE_EQ(r.value, 2);
}

TEST(BreakEven, CountsRuns) {
  EXPECT_EQ(break_even({100, 1}, {10, 2}), 91);  // 100 + 90 * 1 = 10 + 90 * 2
  EXPECT_EQ(break_even({10, 1}, {100, 2}), 1);   // ahead from the start
  EXPECT_EQ(break_even({100, 2}, {10, 1}), std::nullopt);
  EXPECT_EQ(break_even({10, 2}, {100, 1}), std::nullopt);  // ahead at first, not for good
  EXPECT_EQ(break_even({100, 1}, {10, 1}), std::nullopt);
  EXPECT_EQ(break_even({10, 1}, {10, 1}), 1);
}

}  // namespace
}  // namespace tuff::bench
