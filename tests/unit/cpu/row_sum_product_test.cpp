// Few vectors times matrices that are read as they lie, with what follows them.
#include "backend/cpu/gemm/row_sum_product.h"

#include <gtest/gtest.h>

#include <string>

#include "backend/cpu/gemm/row_sums.h"
#include "tests/unit/cpu/panel_problem.h"

namespace tuff::test {
namespace {

std::string name_of(const Problem& p) {
  return std::to_string(p.call.m) + "x" + std::to_string(p.call.n) + "x" + std::to_string(p.call.k);
}

// The depth in parts, or so many columns that it is not divided.
TEST(CpuRowSumProduct, ShapesAndPostOps) {
  const PostOpList lists[] = {{},
                              {kBias},
                              {kBias, kResidual},
                              {kSmall, kBias, kGelu},
                              {kSmall, kResidual, kGelu},
                              {kHuge, kTiny, kBias}};
  const int64_t shapes[][3] = {
      {1, 64, 512}, {2, 97, 401}, {1, 2051, 67}, {2, 33'000, 3}, {1, 390, 701}};
  for (auto& [m, n, k] : shapes)
    for (const PostOpList& list : lists) {
      Problem p({}, m, n, k);
      p.call.post_ops = list;
      ASSERT_TRUE(cpu::is_row_sum_product(p.call, table())) << name_of(p);
      auto product = cpu::create_row_sum_product(p.call, table());
      expect_product(p, *product, name_of(p) + " with " + std::to_string(&list - lists));
    }
}

TEST(CpuRowSumProduct, RowsAnywhere) {
  Problem p({}, 2, 97, 401);
  p.call.a_row = 1, p.call.a_col = 2;
  expect_product(p, *cpu::create_row_sum_product(p.call, table()), "by columns");
  p.call.a_row = 0, p.call.a_col = 1;
  expect_product(p, *cpu::create_row_sum_product(p.call, table()), "one row");
}

// A matrix that lies by columns times a vector.
TEST(CpuRowSumProduct, Transposed) {
  const int64_t m = 300, k = 130;
  MatmulCall call;
  call.m = m, call.n = 1, call.k = k;
  call.a_row = 1, call.a_col = m, call.b_row = 1, call.b_col = 1, call.c_row = 1, call.c_col = 1;
  call.post_ops = {kSmall, kResidual};
  ASSERT_TRUE(cpu::is_row_sum_product(call, table()));
  std::vector<float> a = numbers(m * k, 1), b = numbers(k, 2), more = numbers(m, 3);
  std::vector<float> got(static_cast<size_t>(m), NAN), want = got;
  for (int64_t i = 0; i < m; ++i) {
    float sum = 0;
    for (int64_t l = 0; l < k; ++l)
      sum += a[static_cast<size_t>(i + l * m)] * b[static_cast<size_t>(l)];
    want[static_cast<size_t>(i)] = sum * 0x1p-9f + more[static_cast<size_t>(i)];
  }
  cpu::CallOperand operands[] = {operand(a), operand(b), operand(more), operand(got)};
  ASSERT_TRUE(cpu::create_row_sum_product(call, table())->run(operands).ok());
  EXPECT_EQ(got, want);
}

// Small integers: exact in any order of the sum, and in any type.
TEST(CpuRowSumProduct, EveryLevelAndType) {
  for (auto level : {cpu::IsaLevel::kBaseline, cpu::IsaLevel::kAvx2, cpu::IsaLevel::kAvx512}) {
    if (!cpu::isa_level_available(level)) continue;
    const cpu::LaneTable& lanes = cpu::lane_table(level);
    for (DType type : {DType::kF32, DType::kBF16, DType::kF16})
      for (int64_t rows = 1; rows <= lanes.most_row_sums; ++rows)
        for (int64_t columns : {1, 15, 16, 33})
          for (int64_t depth : {1, 3, 4, 8, 21}) {
            auto function = lanes.row_sums[static_cast<size_t>(type)];
            if (function == nullptr) continue;
            std::vector<float> a = numbers(rows * depth, 1), b = numbers(depth * columns, 2);
            std::vector<float> got(static_cast<size_t>(rows * columns), NAN), want = got;
            for (int64_t i = 0; i < rows; ++i)
              for (int64_t j = 0; j < columns; ++j) {
                float sum = 0;
                for (int64_t l = 0; l < depth; ++l)
                  sum += a[static_cast<size_t>(i * depth + l)] *
                         b[static_cast<size_t>(l * columns + j)];
                want[static_cast<size_t>(i * columns + j)] = sum;
              }
            Stored stored(b, type);
            function({.rows = rows,
                      .columns = columns,
                      .depth = depth,
                      .a = a.data(),
                      .a_row = depth,
                      .b = stored.operand().data,
                      .b_row = columns,
                      .sums = got.data(),
                      .sums_row = columns});
            ASSERT_EQ(got, want) << cpu::isa_level_name(level) << " " << dtype_name(type) << " "
                                 << rows << "x" << columns << "x" << depth;
          }
  }
}

TEST(CpuRowSumProduct, NarrowTypes) {
  const DType narrow[] = {DType::kBF16, DType::kF16};
  for (DType a_type : {DType::kF32, DType::kBF16})
    for (DType b_type : narrow)
      for (DType c_type : {DType::kF32, DType::kBF16}) {
        Problem p({}, 2, 97, 401);
        p.call.a_narrow = a_type, p.call.b_narrow = b_type, p.call.result_type = c_type;
        p.call.post_ops = {kBias};
        if (!cpu::is_row_sum_product(p.call, table())) continue;  // f16 without F16C
        std::vector<double> sums = p.want();
        Stored a(p.a, a_type), b(p.b, b_type);
        Stored want(std::vector<float>(sums.begin(), sums.end()), c_type);
        Stored got(std::vector<float>(sums.size(), NAN), c_type);
        cpu::CallOperand operands[] = {a.operand(), b.operand(7), operand(p.bias), got.operand()};
        ASSERT_TRUE(cpu::create_row_sum_product(p.call, table())->run(operands).ok());
        EXPECT_EQ(differences(got, want), 0u);
      }
}

TEST(CpuRowSumProduct, WhatItIsNotFor) {
  auto changed = [](const auto& change) {
    Problem p({}, 2, 97, 401);
    change(p.call);
    return cpu::is_row_sum_product(p.call, table());
  };
  EXPECT_TRUE(changed([](MatmulCall&) {}));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.b_row = 1, c.b_col = 401; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.c_row = 98; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.m = 5; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.n = c.b_row = c.c_row = 63; }));
}

}  // namespace
}  // namespace tuff::test
