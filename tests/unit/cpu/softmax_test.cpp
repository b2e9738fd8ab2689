// Softmax rows at every processor level, and which groups become one.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/cpu/attention/row_calls.h"
#include "ir/evaluate/tolerances.h"
#include "tests/unit/cpu/lowers_to.h"

namespace tuff::test {
namespace {

std::vector<float> run(const std::vector<float>& x, int64_t rows, cpu::IsaLevel level) {
  std::vector<float> in = x, out(x.size());
  auto call =
      cpu::create_softmax({rows, static_cast<int64_t>(x.size()) / rows}, cpu::lane_table(level));
  cpu::CallOperand operands[] = {{reinterpret_cast<std::byte*>(in.data()), 0},
                                 {reinterpret_cast<std::byte*>(out.data()), 0}};
  EXPECT_TRUE(call->run(operands).ok());
  return out;
}

void check_rows(int64_t rows, int64_t columns) {
  std::vector<float> x(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i)) * 20;
  std::vector<float> baseline = run(x, rows, cpu::IsaLevel::kBaseline);
  for (int64_t row = 0; row < rows; ++row) {
    auto begin = static_cast<size_t>(row * columns), end = begin + static_cast<size_t>(columns);
    double total = 0;
    for (size_t i = begin; i < end; ++i) total += std::exp(static_cast<double>(x[i]));
    for (size_t i = begin; i < end; ++i) {
      double expected = std::exp(static_cast<double>(x[i])) / total;
      EXPECT_NEAR(baseline[i], expected, tolerance("softmax") * expected) << columns << " at " << i;
    }
  }
  for (auto level : {cpu::IsaLevel::kAvx2, cpu::IsaLevel::kAvx512}) {
    if (!cpu::isa_level_available(level)) continue;
    EXPECT_EQ(run(x, rows, level), baseline) << columns << " columns";
  }
  const std::vector<float> alone(x.end() - columns, x.end());
  EXPECT_EQ(run(alone, 1, cpu::best_isa_level()),
            std::vector<float>(baseline.end() - columns, baseline.end()))
      << "a row by itself, of " << columns << " columns";
}

TEST(CpuSoftmax, EveryLevelGivesTheSameBits) {
  for (int64_t rows : {3, 16, 37})
    for (int64_t columns : {1, 2, 20, 31, 32, 33, 63, 64, 197, 1000}) check_rows(rows, columns);
}

TEST(CpuSoftmax, NotANumberAndInfinities) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (size_t at : {0u, 5u, 40u}) {
    std::vector<float> x(41, 1.0f);
    x[at] = nan;
    for (float y : run(x, 1, cpu::best_isa_level())) EXPECT_TRUE(std::isnan(y));
    x[at] = -inf;
    EXPECT_EQ(run(x, 1, cpu::best_isa_level())[at], 0.0f);
    x[at] = inf;
    EXPECT_TRUE(std::isnan(run(x, 1, cpu::best_isa_level())[at]));
  }
  for (float y : run(std::vector<float>(7, -inf), 1, cpu::best_isa_level()))
    EXPECT_TRUE(std::isnan(y));
}

std::string softmax_group(const std::string& dims, const std::string& broadcast,
                          const std::string& input) {
  return R"(graph rows(%x: f32[4,6]) {
    %low = constant f32[] -inf
    %m = reduce(%x, %low) {dimensions = )" +
         dims + R"(} : )" + (dims == "[1]" ? "f32[4]" : "f32[6]") +
         R"( graph reduce(%0: f32[], %1: f32[]) {
      %2 = maximum(%0, %1) : f32[]
      return %2
    }
    %mm = broadcast_in_dim(%m) {broadcast_dimensions = )" +
         broadcast + R"(} : f32[4,6]
    %d = subtract(%x, %mm) : f32[4,6]
    %e = exponential(%d) : f32[4,6]
    %zero = constant f32[] 0
    %s = reduce()" +
         input + R"(, %zero) {dimensions = )" + dims + R"(} : )" +
         (dims == "[1]" ? "f32[4]" : "f32[6]") + R"( graph reduce(%0: f32[], %1: f32[]) {
      %2 = add(%0, %1) : f32[]
      return %2
    }
    %ss = broadcast_in_dim(%s) {broadcast_dimensions = )" +
         broadcast + R"(} : f32[4,6]
    %q = divide(%e, %ss) : f32[4,6]
    return %q
  })";
}

TEST(CpuSoftmax, OnlyASoftmaxOverTheLastDimensionBecomesACall) {
  EXPECT_TRUE(lowers_to<SoftmaxCall>(softmax_group("[1]", "[0]", "%e")));
  EXPECT_FALSE(lowers_to<SoftmaxCall>(softmax_group("[0]", "[1]", "%e")));  // over columns
  EXPECT_FALSE(
      lowers_to<SoftmaxCall>(softmax_group("[1]", "[0]", "%d")));  // the sum of something else
}

}  // namespace
}  // namespace tuff::test
