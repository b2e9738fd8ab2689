// Scatters by one thread and by several: rows of one element and wider ones, targets that meet,
// targets outside, several scatters side by side.
#include "backend/cpu/indexing/scatter.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/cpu/call_operands.h"

namespace tuff::test {
namespace {

struct Problem {
  std::optional<Op> op;
  int64_t outer, count, span, width;
};

float combined(const std::optional<Op>& op, float to, float from) {
  if (!op) return from;
  return *op == Op::kAdd ? to + from : std::max(to, from);
}

// In order, one update after another.
std::vector<float> expected(const Problem& p, const std::vector<int32_t>& targets,
                            const std::vector<float>& updates, std::vector<float> to) {
  for (int64_t o = 0; o < p.outer; ++o)
    for (int64_t i = 0; i < p.count; ++i) {
      int64_t row = targets[static_cast<size_t>(i)];
      for (int64_t j = 0; row >= 0 && row < p.span && j < p.width; ++j) {
        float& x = to[static_cast<size_t>((o * p.span + row) * p.width + j)];
        x = combined(p.op, x, updates[static_cast<size_t>((o * p.count + i) * p.width + j)]);
      }
    }
  return to;
}

class CpuScatter : public testing::TestWithParam<Problem> {};

TEST_P(CpuScatter, AsOneAfterAnother) {
  const Problem& p = GetParam();
  std::vector<int32_t> targets(static_cast<size_t>(p.count));
  for (size_t i = 0; i < targets.size(); ++i)
    targets[i] = static_cast<int32_t>((i * 7919 + 13) % static_cast<size_t>(p.span + 2)) - 1;
  std::vector<float> updates = numbers(p.outer * p.count * p.width, 1);
  std::vector<float> to = numbers(p.outer * p.span * p.width, 2);
  const std::vector<float> want = expected(p, targets, updates, to);
  auto scatter =
      cpu::create_scatter({p.op, DType::kF32, p.outer, p.count, p.span, p.width}, table());
  cpu::CallOperand places{reinterpret_cast<std::byte*>(targets.data()), 0};
  ASSERT_TRUE(scatter->run(std::array{places, operand(updates), operand(to)}).ok());
  EXPECT_EQ(to, want);
}

// One element for all targets: few of them, so many that threads share them, and in bins.
TEST(CpuScatterOfOne, CountsTargets) {
  for (const auto& [count, span] :
       {std::pair<int64_t, int64_t>{100, 9}, {600'011, 300'001}, {90'000, 700}}) {
    std::vector<int32_t> targets(static_cast<size_t>(count));
    std::vector<float> update{0.5f}, to(static_cast<size_t>(span), 1), want = to;
    for (size_t i = 0; i < targets.size(); ++i) {
      targets[i] = static_cast<int32_t>((i * 7919 + 13) % static_cast<size_t>(span + 1));
      if (targets[i] < span) want[static_cast<size_t>(targets[i])] += 0.5f;
    }
    auto scatter = cpu::create_scatter({Op::kAdd, DType::kF32, 1, count, span, 1, true}, table());
    cpu::CallOperand places{reinterpret_cast<std::byte*>(targets.data()), 0};
    ASSERT_TRUE(scatter->run(std::array{places, operand(update), operand(to)}).ok());
    EXPECT_EQ(to, want) << count << " into " << span;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, CpuScatter,
                         testing::Values(Problem{std::nullopt, 1, 1000, 700, 1},
                                         Problem{Op::kAdd, 1, 600'011, 70'001, 1},
                                         Problem{std::nullopt, 1, 600'011, 900'001, 1},
                                         Problem{Op::kMaximum, 1, 21'000, 3'001, 200},
                                         Problem{std::nullopt, 1, 600'000, 5'003, 7},
                                         Problem{Op::kAdd, 9, 3'001, 501, 3},
                                         Problem{Op::kAdd, 1, 50'000, 37, 1},
                                         Problem{Op::kAdd, 1, 0, 5, 4}));

}  // namespace
}  // namespace tuff::test
