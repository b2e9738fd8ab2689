// Matmuls with packed weights: what follows them, deep ones, rows that lie anywhere.
#ifdef TUFF_HAS_ONEDNN
#include "backend/cpu/gemm/panel_product.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/unit/cpu/panel_problem.h"

namespace tuff::test {
namespace {

void expect_run(Problem& p, const std::string& what, bool stable_b = true) {
  ASSERT_TRUE(cpu::is_panel_product(p.call)) << what;
  auto call = cpu::panel_product_call(p.call, /*stable_a=*/false, stable_b);
  ASSERT_EQ(call.has_value(), stable_b || p.rows() >= 128);
  if (!call) return;
  cpu::PanelProduct product(*call, table(), owner());
  expect_product(p, product, what);
}

TEST(CpuPanelProduct, ShapesAndPostOps) {
  const PostOp by_tanh{Kind::kGeluTanh};
  const PostOpList lists[] = {{},
                              {kBias},
                              {kBias, kResidual},
                              {kSmall, kBias, kGelu},
                              {kSmall, by_tanh},
                              {kSmall, kResidual, kGelu},
                              {kHuge, kTiny, kBias, by_tanh}};
  // The third are deeper than what is multiplied at a time.
  const int64_t shapes[][3] = {{1, 1, 1},       {7, 47, 15},   {5, 97, 3001},
                               {193, 48, 16},   {2, 300, 40},  {97, 50, 33},
                               {200, 49, 1500}, {1, 97, 3001}, {3, 49, 770}};
  for (auto& [m, n, k] : shapes)
    for (const PostOpList& list : lists) {
      Problem p({}, m, n, k);
      p.call.post_ops = list;
      expect_run(p, std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
                        " with " + std::to_string(&list - lists));
    }
}

// Each thread packs groups of panels, parts of their depth at a time.
TEST(CpuPanelProduct, WeightsThatChange) {
  for (auto& [m, n, k] : {std::array<int64_t, 3>{128, 1000, 7}, {400, 30, 20}, {130, 770, 1500}}) {
    Problem p({}, m, n, k);
    p.call.post_ops = {{Kind::kMultiply, With::kValue, 0, 0x1p-9f},
                       {Kind::kAdd, With::kElement},
                       {Kind::kGeluErf, With::kNothing}};
    expect_run(p, std::to_string(m) + " changing", /*stable_b=*/false);
  }
}

TEST(CpuPanelProduct, RowsAnywhere) {
  Problem even({2, 3}, 5, 50, 20);
  expect_run(even, "dense");
  Problem apart({2, 3}, 5, 50, 20);
  apart.call.a_batch_strides = {0, 5 * 20 + 3};
  expect_run(apart, "batches apart");
  apart.call.a_row = 0, apart.call.a_batch_strides = {20, 0};
  expect_run(apart, "rows repeated");
  apart.call.a_row = 0, apart.call.a_batch_strides = {0, 0};
  expect_run(apart, "one row");
  Problem one({2, 1, 3}, 1, 7, 9);
  one.call.a_batch_strides = {27, -5, 9};
  expect_run(one, "strides of dimensions of size 1 mean nothing");
}

// What a gradient of weights is: both sides change, the left one lies by columns.
TEST(CpuPanelProduct, TransposedRows) {
  for (auto& [m, n, k] : {std::array<int64_t, 3>{1, 5, 7}, {13, 60, 33}, {400, 49, 200}})
    for (bool stable_b : {false, true}) {
      Problem p({}, m, n, k);
      p.call.a_row = 1, p.call.a_col = m + 3;
      p.a = numbers(k * (m + 3), 1);
      p.call.post_ops = {{Kind::kMultiply, With::kValue, 0, -0.5f}, {Kind::kAdd, With::kElement}};
      expect_run(p, std::to_string(m) + " rows", stable_b);
    }
}

// Operands of each type, at each level: kept in their own type, the same again, and not kept.
TEST(CpuPanelProduct, NarrowTypes) {
  constexpr DType kTypesOf[] = {DType::kF32, DType::kBF16, DType::kF16};
  const int64_t shapes[][3] = {{1, 1, 1}, {7, 47, 15}, {5, 97, 1501}, {193, 50, 33}};
  for (cpu::IsaLevel level : {cpu::IsaLevel::kBaseline, cpu::best_isa_level()})
    for (auto& [m, n, k] : shapes)
      for (int types = 0; types < 27; ++types)
        for (int64_t b_layout = 0; b_layout < 3; ++b_layout) {
          cpu::PanelProductCall call;
          call.a_type = kTypesOf[types % 3];
          call.b_type = kTypesOf[types / 3 % 3], call.c_type = kTypesOf[types / 9];
          SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " " +
                       dtype_name(call.a_type) + " " + dtype_name(call.b_type) + " " +
                       dtype_name(call.c_type) + " layout " + std::to_string(b_layout));
          call.row_sizes = {m}, call.row_strides = {k + 1};
          call.depth = k, call.columns = n;
          call.b_row = b_layout == 0 ? n : b_layout == 1 ? 1 : 2;
          call.b_col = b_layout == 0 ? 1 : b_layout == 1 ? k : 2 * k;
          call.a_offset = 3, call.b_offset = 2, call.c_offset = 1;
          call.post_ops = {{Kind::kMultiply, With::kValue, 0, 0.5f}, {Kind::kAdd, With::kColumn}};
          std::vector<float> a = numbers(m * (k + 1) + 3, 1), b = numbers(2 * n * k + 2, 2);
          std::vector<float> bias = numbers(n, 5), want(static_cast<size_t>(m * n + 1), 0);
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              float sum = 0;
              for (int64_t l = 0; l < k; ++l)
                sum += a[3 + i * (k + 1) + l] * b[2 + l * call.b_row + j * call.b_col];
              want[1 + i * n + j] = sum * 0.5f + bias[j];
            }
          Stored stored_a(a, call.a_type), stored_b(b, call.b_type), expected(want, call.c_type);
          cpu::PanelProduct product(call, cpu::lane_table(level), owner());
          for (uint64_t version : {7, 7, 0}) {
            Stored got(std::vector<float>(want.size()), call.c_type);
            cpu::CallOperand operands[] = {stored_a.operand(), stored_b.operand(version),
                                           operand(bias), got.operand()};
            ASSERT_TRUE(product.run(operands).ok());
            ASSERT_EQ(differences(got, expected), 0u) << "version " << version;
          }
        }
}

TEST(CpuPanelProduct, WhatItIsNotFor) {
  auto changed = [](const auto& change) {
    Problem p({2}, 5, 6, 7);
    change(p.call);
    return cpu::is_panel_product(p.call);
  };
  EXPECT_TRUE(changed([](MatmulCall&) {}));
  EXPECT_TRUE(changed([](MatmulCall& c) { c.operand_type = DType::kBF16; }));
  EXPECT_FALSE(changed([](MatmulCall& c) {
    c.operand_type = DType::kBF16, c.batch.clear(), c.a_row = 1, c.a_col = 5;
  }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.b_batch_strides = {42}; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.c_row = 8; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.a_col = 2; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.a_row = 2, c.a_col = 5; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.k = 0; }));
  EXPECT_FALSE(changed([](MatmulCall& c) {
    c.post_ops = {{Kind::kGeluErf, With::kNothing}, {Kind::kAdd, With::kColumn}};
  }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.post_ops = {{Kind::kSubtract, With::kElement}}; }));
}

}  // namespace
}  // namespace tuff::test
#endif
