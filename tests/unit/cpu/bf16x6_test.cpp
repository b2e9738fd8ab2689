// Products of f32 by AMX: what is split, whether it is as exact as f32, and what cannot be split.
#include "backend/cpu/gemm/bf16x6.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "backend/cpu/call_choice.h"
#include "backend/cpu/gemm/bf16x6_product.h"
#include "backend/cpu/thread_pool.h"
#include "ir/evaluate/tolerances.h"
#include "tests/unit/cpu/panel_problem.h"

namespace tuff::test {
namespace {

class CpuBf16x6 : public testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::isa_level_available(cpu::IsaLevel::kAmx))
      GTEST_SKIP() << "This processor, system or build has no AMX.";
    table_ = &cpu::lane_table(cpu::IsaLevel::kAmx);
  }

  void expect_run(Problem& p, const std::string& what, bool stable_b = true) {
    auto call = cpu::panel_product_call(p.call, /*stable_a=*/true, stable_b);
    ASSERT_TRUE(call.has_value()) << what;
    cpu::Bf16x6Product product(*call, *table_, owner());
    expect_product(p, product, what);
  }

  std::vector<float> run(Problem& p, bool by_amx) {
    auto call = cpu::panel_product_call(p.call, true, true);
    std::vector<float> got(p.full.size());
    cpu::CallOperand operands[] = {operand(p.a), operand(p.b), operand(got)};
    Status status = by_amx ? cpu::Bf16x6Product(*call, *table_, owner()).run(operands)
                           : cpu::PanelProduct(*call, *table_, owner()).run(operands);
    EXPECT_TRUE(status.ok());
    return got;
  }

  const cpu::LaneTable* table_ = nullptr;
};

std::vector<float> random_numbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& x : values) x = normal(random);
  return values;
}

float part_of(uint16_t bits) {
  uint32_t word = uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &word, 4);
  return value;
}

// Element (line, l), from its parts; see bf16x6.h and sum_block.
float joined(const std::vector<uint16_t>& to, int64_t to_group, int64_t line, int64_t l,
             bool columns) {
  const int64_t tile = line % 32 / 16, i = line % 16, k = l % 32;
  const int64_t in_tile = columns ? k / 2 * 32 + i * 2 + k % 2 : i * 32 + k;
  float sum = 0;
  const int by_size[] = {columns ? 2 : 0, columns ? 1 : 2, columns ? 0 : 1};
  for (int place : by_size)
    sum += part_of(to[static_cast<size_t>(line / 32 * to_group + l / 32 * cpu::kSplitBlock +
                                          place * 1024 + tile * 512 + in_tile)]);
  return sum;
}

TEST_F(CpuBf16x6, PartsAreTheNumber) {
  for (auto& [lines, depth] : {std::array<int64_t, 2>{1, 1}, {16, 32}, {17, 33}, {40, 70}, {70, 5}})
    for (bool columns : {false, true})
      for (int layout = 0; layout < 4; ++layout) {
        SCOPED_TRACE(std::to_string(lines) + "x" + std::to_string(depth) + " layout " +
                     std::to_string(layout) + (columns ? " columns" : " rows"));
        std::vector<float> values = random_numbers(static_cast<size_t>(2 * lines * depth + 64), 3);
        values[0] = 0;
        const std::vector<float> factors(static_cast<size_t>(lines), 0.3f);
        std::vector<int64_t> offsets(static_cast<size_t>(lines));
        cpu::SplitSource s{.from = values.data(), .lines = lines, .depth = depth};
        s.columns = columns;
        s.line = layout == 1 ? 1 : layout == 2 ? 2 : depth + 3;
        s.step = layout == 1 ? lines : layout == 2 ? 2 * lines : 1;
        for (int64_t i = 0; i < lines; ++i) offsets[i] = (lines - 1 - i) * depth;
        if (layout == 3 && lines <= 32) s.offsets = offsets.data();
        if (layout == 0) s.factors = factors.data();
        const int64_t groups = (lines + 31) / 32;
        s.to_group = (depth + 31) / 32 * cpu::kSplitBlock;
        std::vector<uint16_t> to(static_cast<size_t>(groups * s.to_group), 0xffff);
        std::vector<uint32_t> largest(static_cast<size_t>(groups));
        s.to = to.data(), s.largest = largest.data();
        table_->split_bf16x3(s);
        std::vector<float> most(largest.size());
        for (int64_t i = 0; i < groups * 32; ++i)
          for (int64_t l = 0; l < (depth + 31) / 32 * 32; ++l) {
            float want = 0;
            if (i < lines && l < depth) {
              int64_t at = s.offsets != nullptr ? offsets[i] : i * s.line;
              want = values[at + l * s.step] * (layout == 0 ? 0.3f : 1);
            }
            ASSERT_EQ(joined(to, s.to_group, i, l, columns), want) << i << ", " << l;
            most[i / 32] = std::max(most[i / 32], std::abs(want));
          }
        EXPECT_EQ(std::memcmp(most.data(), largest.data(), 4 * most.size()), 0);
      }
}

TEST_F(CpuBf16x6, ShapesAndPostOps) {
  const PostOp bias{Kind::kAdd, With::kColumn}, residual{Kind::kAdd, With::kElement};
  const PostOp small{Kind::kMultiply, With::kValue, 0, 0x1p-9f};
  const PostOpList lists[] = {
      {}, {bias, residual}, {small, bias, {Kind::kGeluErf}}, {small, residual, {Kind::kGeluTanh}}};
  // The last ones are deeper than what is multiplied at a time, or several tasks.
  const int64_t shapes[][3] = {{1, 1, 1},     {16, 16, 32},  {17, 47, 33},    {33, 97, 64},
                               {5, 60, 1700}, {300, 70, 40}, {130, 300, 900}, {600, 520, 65}};
  for (auto& [m, n, k] : shapes)
    for (const PostOpList& list : lists)
      for (bool stable_b : {true, false}) {
        Problem p({}, m, n, k);
        p.call.post_ops = list;
        std::string what = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
        if (stable_b || m >= 128)
          expect_run(p, what + " with " + std::to_string(&list - lists), stable_b);
      }
}

TEST_F(CpuBf16x6, OneThread) {
  int before = cpu::set_thread_limit(1);
  Problem p({}, 300, 300, 300);
  expect_run(p, "one thread");
  expect_run(p, "one thread, changing", /*stable_b=*/false);
  cpu::set_thread_limit(before);
}

TEST_F(CpuBf16x6, RowsAnywhere) {
  for (bool stable_b : {true, false}) {
    Problem apart({2, 3}, 50, 50, 40);
    apart.call.a_batch_strides = {0, 50 * 40 + 3};
    expect_run(apart, "batches apart", stable_b);
    Problem repeated({2, 3}, 50, 50, 40);
    repeated.call.a_row = 0, repeated.call.a_batch_strides = {40, 0};
    expect_run(repeated, "rows repeated", stable_b);
    Problem transposed({}, 200, 77, 50);
    transposed.call.a_row = 1, transposed.call.a_col = 203;
    transposed.a = numbers(50 * 203, 1);
    expect_run(transposed, "transposed rows", stable_b);
  }
}

// Sums of numbers that are not exact in bf16: as near to the doubles as f32's own are.
TEST_F(CpuBf16x6, IsAsExactAsF32) {
  for (auto& [m, n, k] : {std::array<int64_t, 3>{64, 128, 64}, {128, 160, 768}, {64, 128, 3000}})
    for (bool cancels : {false, true}) {
      SCOPED_TRACE(std::to_string(k) + (cancels ? " deep, cancelling" : " deep"));
      Problem p({}, m, n, k);
      p.a = random_numbers(static_cast<size_t>(m * k), 1);
      p.b = random_numbers(static_cast<size_t>(n * k), 2);
      for (int64_t i = 0; cancels && i < m; ++i)  // the second half of the sum takes back the first
        for (int64_t l = 0; l < k / 2; ++l) p.a[i * k + k / 2 + l] = -p.a[i * k + l];
      for (int64_t j = 0; cancels && j < n; ++j)
        for (int64_t l = 0; l < k / 2; ++l)
          p.b[(k / 2 + l) * n + j] = p.b[l * n + j] * (l % 8 == 0 ? 1 + 0x1p-12f : 1);
      std::vector<double> want(p.full.size()), whole(p.full.size());
      for (int64_t i = 0; i < m; ++i)
        for (int64_t l = 0; l < k; ++l)
          for (int64_t j = 0; j < n; ++j) {
            double product = double{p.a[i * k + l]} * p.b[l * n + j];
            want[i * n + j] += product, whole[i * n + j] += std::abs(product);
          }
      double squares[2] = {};  // of the errors: of f32, of AMX
      for (bool by_amx : {false, true}) {
        std::vector<float> got = run(p, by_amx);
        for (size_t i = 0; i < got.size(); ++i) {
          double error = (got[i] - want[i]) / whole[i];
          squares[by_amx] += error * error;
          ASSERT_LE(std::abs(error), 0x1p-20) << "at " << i;
        }
      }
      EXPECT_LE(squares[1], squares[0]);
    }
}

// One number that has no three parts makes its row and column what f32 makes of it, and leaves the
// others alone.
TEST_F(CpuBf16x6, WhatCannotBeSplit) {
  const float kInfinity = std::numeric_limits<float>::infinity();
  const int64_t m = 130, n = 140, k = 900;
  for (float value : {kInfinity, NAN, 3e38f, -1e30f, 1e-42f})
    for (bool in_a : {true, false}) {
      SCOPED_TRACE(std::to_string(value) + (in_a ? " in a row" : " in a column"));
      Problem p({}, m, n, k);
      const int64_t line = 37, l = 801;
      (in_a ? p.a[line * k + l] : p.b[l * n + line]) = value;
      std::vector<float> f32 = run(p, false), got = run(p, true);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const float a = got[i * n + j], b = f32[i * n + j];
          if (std::isfinite(b))
            ASSERT_NEAR(a, b, tolerance("split_product") * std::max(1.0f, std::abs(b)))
                << i << ", " << j;
          else
            ASSERT_TRUE(std::isnan(b) ? std::isnan(a) : a == b) << i << ", " << j << ": " << a;
        }
    }
}

// All of a side so small that parts would be below what AMX tells from 0.
TEST_F(CpuBf16x6, TinyNumbers) {
  Problem p({}, 64, 128, 64);
  p.a = random_numbers(64 * 64, 1), p.b = random_numbers(64 * 128, 2);
  for (float& x : p.a) x *= 0x1p-100f;
  for (float& x : p.b) x *= 0x1p-20f;
  std::vector<float> f32 = run(p, false), got = run(p, true);
  float largest = 0;
  for (float x : f32) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], f32[i], tolerance("product") * largest) << i;
}

TEST_F(CpuBf16x6, IsForLargeProducts) {
  auto pays = [&](int64_t m, int64_t n, int64_t k) {
    cpu::PanelProductCall call;
    call.row_sizes = {m}, call.row_strides = {k}, call.depth = k, call.columns = n;
    return cpu::pays_as_bf16x6(call, *table_) &&
           !cpu::pays_as_bf16x6(call, cpu::lane_table(cpu::IsaLevel::kAvx512));
  };
  EXPECT_TRUE(pays(197, 768, 768));
  EXPECT_FALSE(pays(2, 768, 768) || pays(3136, 64, 256) || pays(3136, 256, 16));
}

}  // namespace
}  // namespace tuff::test
