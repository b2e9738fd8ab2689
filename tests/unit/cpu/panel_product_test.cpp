// Matmuls with packed weights: what follows them, deep ones, rows that lie anywhere.
#ifdef TUFF_HAS_ONEDNN
#include "backend/cpu/panel_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/unit/cpu/call_operands.h"

namespace tuff::test {
namespace {

using Kind = PostOp::Kind;
using With = PostOp::With;

double gelu(Kind kind, double x) {
  if (kind == Kind::kGeluErf) return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

double apply(const PostOp& op, double x, double y) {
  switch (op.kind) {
    case Kind::kAdd: return x + y;
    case Kind::kMultiply: return x * y;
    default: return gelu(op.kind, x);
  }
}

// [batch.., m, k] x [k, n]; rows of A where the call says, the rest dense.
struct Problem {
  MatmulCall call;
  std::vector<float> a, b, bias, full;

  Problem(std::vector<int64_t> batch, int64_t m, int64_t n, int64_t k) {
    call.m = m, call.n = n, call.k = k;
    call.a_row = k, call.a_col = 1, call.b_row = n, call.b_col = 1, call.c_row = n, call.c_col = 1;
    call.batch = std::move(batch);
    call.b_batch_strides.resize(call.batch.size());
    call.a_batch_strides = call.c_batch_strides = call.b_batch_strides;
    int64_t rows = m;
    for (size_t d = call.batch.size(); d-- > 0; rows *= call.batch[d])
      call.a_batch_strides[d] = rows * k, call.c_batch_strides[d] = rows * n;
    a = numbers(2 * rows * k, 1), b = numbers(k * n, 2);
    bias = numbers(n, 5), full = numbers(rows * n, 7);
  }

  int64_t rows() const { return static_cast<int64_t>(full.size()) / call.n; }
  int64_t place_of(int64_t row) const {
    int64_t at = row % call.m * call.a_row;
    row /= call.m;
    for (size_t d = call.batch.size(); d-- > 0; row /= call.batch[d])
      at += row % call.batch[d] * call.a_batch_strides[d];
    return at;
  }

  std::vector<double> want() const {
    std::vector<double> result(full.size());
    for (int64_t r = 0; r < rows(); ++r)
      for (int64_t j = 0; j < call.n; ++j) {
        auto at = static_cast<size_t>(r * call.n + j);
        double x = 0;
        for (int64_t l = 0; l < call.k; ++l)
          x += a[static_cast<size_t>(place_of(r) + l * call.a_col)] *
               b[static_cast<size_t>(l * call.n + j)];
        for (const PostOp& op : call.post_ops) {
          float y = op.with == With::kColumn    ? bias[static_cast<size_t>(j)]
                    : op.with == With::kElement ? full[at]
                                                : op.value;
          x = apply(op, x, y);
        }
        result[at] = x;
      }
    return result;
  }
};

void expect_run(Problem& p, const std::string& what, bool stable_b = true) {
  ASSERT_TRUE(cpu::is_panel_product(p.call)) << what;
  auto call = cpu::panel_product_call(p.call, /*stable_a=*/false, stable_b);
  ASSERT_EQ(call.has_value(), stable_b || p.rows() >= 128);
  if (!call) return;
  cpu::PanelProduct product(*call, table());
  std::vector<double> want = p.want();
  double largest = 1;
  for (double x : want) largest = std::max(largest, std::abs(x));
  std::vector<float> first;
  for (uint64_t version : {7, 7, 0, 8}) {  // packed and kept, the same, not kept twice
    std::vector<float> got(want.size(), NAN);
    std::vector<cpu::CallOperand> operands{operand(p.a), operand(p.b, version)};
    for (const PostOp& op : p.call.post_ops) {
      if (op.with == With::kColumn) operands.push_back(operand(p.bias));
      if (op.with == With::kElement) operands.push_back(operand(p.full));
    }
    operands.push_back(operand(got));
    ASSERT_TRUE(product.run(operands).ok());
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 1e-6 * largest) << what << " at " << i;
    if (first.empty()) first = got;
    ASSERT_EQ(got, first) << what << " version " << version;
  }
}

TEST(CpuPanelProduct, ShapesAndPostOps) {
  const PostOp bias{Kind::kAdd, With::kColumn}, residual{Kind::kAdd, With::kElement};
  const PostOp small{Kind::kMultiply, With::kValue, 0, 0x1p-9f};
  const PostOp huge{Kind::kMultiply, With::kValue, 0, 0x1p50f};
  const PostOp tiny{Kind::kMultiply, With::kValue, 0, 0x1p-59f};
  const PostOp by_erf{Kind::kGeluErf}, by_tanh{Kind::kGeluTanh};
  const PostOpList lists[] = {{},
                              {bias},
                              {bias, residual},
                              {small, bias, by_erf},
                              {small, by_tanh},
                              {small, residual, by_erf},
                              {huge, tiny, bias, by_tanh}};
  // The third are deeper than what is multiplied at a time.
  const int64_t shapes[][3] = {{1, 1, 1},    {7, 47, 15},  {5, 97, 3001},  {193, 48, 16},
                               {2, 300, 40}, {97, 50, 33}, {200, 49, 1500}};
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

TEST(CpuPanelProduct, WhatItIsNotFor) {
  auto changed = [](const auto& change) {
    Problem p({2}, 5, 6, 7);
    change(p.call);
    return cpu::is_panel_product(p.call);
  };
  EXPECT_TRUE(changed([](MatmulCall&) {}));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.operand_type = DType::kBF16; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.b_batch_strides = {42}; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.c_row = 8; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.a_col = 2; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.a_row = 1, c.a_col = 5; }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.k = 0; }));
  EXPECT_FALSE(changed([](MatmulCall& c) {
    c.post_ops = {{Kind::kGeluErf, With::kNothing}, {Kind::kAdd, With::kColumn}};
  }));
  EXPECT_FALSE(changed([](MatmulCall& c) { c.post_ops = {{Kind::kSubtract, With::kElement}}; }));
}

TEST(PackedVersion, WhatChangesIsNotPackedEachTime) {
  cpu::PackedVersion packed;
  auto worth = [&](uint64_t version) {
    bool is_worth = packed.worth_packing(version, 64);
    if (is_worth) packed.set(version);
    return is_worth;
  };
  EXPECT_FALSE(worth(0));
  EXPECT_TRUE(worth(1) && worth(1) && packed.is(1) && packed.kept());
  EXPECT_FALSE(worth(2) || packed.kept());
  EXPECT_FALSE(worth(3));
  EXPECT_TRUE(worth(3));
  EXPECT_FALSE(packed.worth_packing(4, int64_t{1} << 60));
}

}  // namespace
}  // namespace tuff::test
#endif
