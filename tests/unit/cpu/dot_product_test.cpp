// Matrices times few vectors, at every level, in both orders, with what follows them.
#include "backend/cpu/gemm/dot_product.h"

#include <gtest/gtest.h>

#include <string>

#include "backend/cpu/gemm/dot_rows.h"
#include "tests/unit/cpu/panel_problem.h"

namespace tuff::test {
namespace {

const PostOpList kLists[] = {
    {}, {kBias}, {kBias, kResidual}, {kSmall, kBias, kGelu}, {kHuge, kTiny, kBias}};

// Few columns; those of B side by side or not.
TEST(CpuDotProduct, FewColumns) {
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{32, 1, 64}, {67, 2, 97}, {131, 3, 1000}, {45, 4, 65}})
    for (const PostOpList& list : kLists) {
      Problem p({}, m, n, k);
      p.call.post_ops = list;
      ASSERT_TRUE(cpu::is_dot_product(p.call, table()));
      auto product = cpu::create_dot_product(p.call, table());
      expect_product(p, *product,
                     std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
                         " with " + std::to_string(&list - kLists));
    }
}

TEST(CpuDotProduct, RowsAnywhere) {
  Problem even({2, 20}, 5, 2, 70);
  ASSERT_TRUE(cpu::is_dot_product(even.call, table()));
  expect_product(even, *cpu::create_dot_product(even.call, table()), "dense");
  Problem apart({2, 20}, 5, 2, 70);
  apart.call.a_batch_strides = {0, 5 * 70 + 3};
  EXPECT_FALSE(cpu::is_dot_product(apart.call, table()));
}

// Few rows times a matrix whose columns lie side by side: the transpose of the above.
TEST(CpuDotProduct, FewRows) {
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{1, 32, 64}, {2, 67, 97}, {3, 131, 1000}, {4, 45, 65}})
    for (const PostOpList& list : kLists) {
      Problem p({}, m, n, k);
      p.call.post_ops = list;
      p.turn_b();
      ASSERT_TRUE(cpu::is_dot_product(p.call, table()));
      auto product = cpu::create_dot_product(p.call, table());
      expect_product(p, *product,
                     std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
                         " with " + std::to_string(&list - kLists));
    }
}

// Each matrix of a batch times its own vectors; or a vector of each times its own matrix, unless
// what follows tells columns apart.
TEST(CpuDotProduct, BatchesOfBoth) {
  for (auto [batch, m, n, k] :
       {std::tuple<std::vector<int64_t>, int64_t, int64_t, int64_t>{{3, 5}, 40, 1, 64},
        {{7}, 33, 3, 97},
        {{90}, 1, 1, 300},
        {{2, 3}, 1, 70, 64},
        {{1}, 1, 37, 129}})
    for (const PostOpList& list : kLists) {
      const bool tells = std::any_of(list.begin(), list.end(),
                                     [](const PostOp& op) { return op.with == With::kColumn; });
      Problem p(batch, m, n, k);
      p.call.post_ops = list;
      p.give_each_its_b();
      const std::string what =
          std::to_string(m) + "x" + std::to_string(n) + " with " + std::to_string(&list - kLists);
      EXPECT_EQ(cpu::is_dot_product(p.call, table()), n <= 4 || !tells) << what;
      if (!cpu::is_dot_product(p.call, table())) continue;
      expect_product(p, *cpu::create_dot_product(p.call, table()), what);
    }
}

// A matrix, vectors and results of each type.
TEST(CpuDotProduct, NarrowTypes) {
  for (DType a_type : {DType::kF32, DType::kBF16, DType::kF16})
    for (DType c_type : {DType::kF32, DType::kBF16}) {
      Problem p({}, 67, 2, 97);
      p.call.a_narrow = a_type, p.call.result_type = c_type;
      p.call.post_ops = {kBias};
      if (!cpu::is_dot_product(p.call, table())) continue;  // f16 without F16C
      std::vector<double> sums = p.want();
      Stored a(p.a, a_type);
      Stored want(std::vector<float>(sums.begin(), sums.end()), c_type);
      Stored got(std::vector<float>(sums.size(), NAN), c_type);
      cpu::CallOperand operands[] = {a.operand(), operand(p.b, 7), operand(p.bias), got.operand()};
      ASSERT_TRUE(cpu::create_dot_product(p.call, table())->run(operands).ok());
      EXPECT_EQ(differences(got, want), 0u);
    }
}

// Small integers: exact in any order of the sum.
TEST(CpuDotProduct, EveryLevel) {
  for (auto level : {cpu::IsaLevel::kBaseline, cpu::IsaLevel::kAvx2, cpu::IsaLevel::kAvx512}) {
    if (!cpu::isa_level_available(level)) continue;
    for (int64_t rows : {0, 1, 3, 4, 9})
      for (int64_t columns : {1, 2, 3})
        for (int64_t depth : {0, 1, 15, 16, 33}) {
          std::vector<float> a = numbers(rows * (depth + 2), 1), b = numbers(columns * depth, 2);
          std::vector<float> factors = numbers(columns, 3), shifts = numbers(columns, 4);
          std::vector<float> got(static_cast<size_t>(rows * columns), NAN), want = got;
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) {
              float sum = 0;
              for (int64_t l = 0; l < depth; ++l)
                sum += a[static_cast<size_t>(i * (depth + 2) + l)] *
                       b[static_cast<size_t>(j * depth + l)];
              sum = sum * factors[static_cast<size_t>(j)] + shifts[static_cast<size_t>(j)];
              want[static_cast<size_t>(i * columns + j)] = std::max(sum, -2.0f);
            }
          cpu::DotRows p{.rows = rows, .columns = columns, .depth = depth};
          p.a = a.data(), p.a_row = depth + 2, p.b = b.data(), p.b_column = depth;
          p.c = got.data(), p.c_row = columns, p.c_column = 1;
          p.factors = factors.data(), p.shifts = shifts.data(), p.step_column = 1;
          p.least = -2;
          cpu::lane_table(level).dot_rows[static_cast<size_t>(DType::kF32)](p);
          ASSERT_EQ(got, want) << cpu::isa_level_name(level) << " " << rows << "x" << columns << "x"
                               << depth;
        }
  }
}

TEST(CpuDotProduct, WhatItIsNotFor) {
  auto changed = [](const auto& change) {
    Problem p({}, 40, 2, 70);
    change(p.call);
    return cpu::is_dot_product(p.call, table());
  };
  EXPECT_TRUE(changed([](MatmulCall&) {}));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.operand_type = DType::kBF16; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.a_row = 1, c.a_col = 40; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.c_row = 3; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.n = c.b_row = c.c_row = 5; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.m = 31; }));
}

}  // namespace
}  // namespace tuff::test
