// Products of small matrices at every level of this processor, and attention made of them,
// against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/attention/attention.h"
#include "backend/cpu/gemm/row_product.h"
#include "backend/cpu/lanes/lane_table.h"
#include "ir/evaluate/tolerances.h"
#include "tests/unit/cpu/call_operands.h"

namespace tuff::test {
namespace {

std::vector<cpu::IsaLevel> levels() {
  std::vector<cpu::IsaLevel> found;
  for (auto level : {cpu::IsaLevel::kBaseline, cpu::IsaLevel::kAvx2, cpu::IsaLevel::kAvx512})
    if (cpu::isa_level_available(level)) found.push_back(level);
  return found;
}

int64_t whole_vectors(int64_t columns) {
  return (columns + cpu::kProductColumns - 1) / cpu::kProductColumns * cpu::kProductColumns;
}

// Small integers: exact in any order of the sum.
void expect_product(int64_t m, int64_t n, int64_t k, bool transposed_a, bool transposed_b,
                    const cpu::LaneTable& table, bool in_panel = false) {
  std::vector<float> a = numbers(m * k + 1, 1), b = numbers(n * k + 1, 2);
  int64_t a_row = transposed_a ? 1 : k, a_col = transposed_a ? m : 1;
  int64_t b_row = transposed_b ? 1 : n, b_col = transposed_b ? k : 1;
  int64_t packed_row = in_panel ? cpu::kPanelColumns : whole_vectors(n), c_row = n + 3;
  std::vector<float> packed(static_cast<size_t>(k * packed_row), -1);
  table.pack_columns(k, n, b.data(), b_row, b_col, packed.data(), packed_row);
  std::vector<float> scales = numbers(m + 1, 3), shifts = numbers(n, 6);
  std::vector<float> before = numbers(m * c_row + 1, 4);
  for (int with = 0; with < 16; ++with) {
    bool adds = with & 1, scaled = with & 2, shifted = with & 4, bounded = with & 8;
    std::vector<float> got = before, want = before;
    cpu::RowProduct product{.m = m, .n = n, .k = k};
    product.a = a.data(), product.a_row = a_row, product.a_col = a_col;
    product.b = packed.data(), product.b_row = packed_row;
    product.c = got.data(), product.c_row = c_row;
    product.scale = 0.5f;
    if (adds) product.addend = got.data(), product.addend_row = c_row;
    if (scaled) product.row_scales = scales.data();
    if (shifted) product.column_shifts = shifts.data();
    if (bounded) product.least = -3;
    table.multiply_rows(product);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float& c = want[static_cast<size_t>(i * c_row + j)];
        float sum = adds ? c : 0;
        for (int64_t l = 0; l < k; ++l)
          sum += a[static_cast<size_t>(i * a_row + l * a_col)] *
                 b[static_cast<size_t>(l * b_row + j * b_col)];
        c = sum * 0.5f * (scaled ? scales[static_cast<size_t>(i)] : 1);
        if (shifted) c += shifts[static_cast<size_t>(j)];
        if (bounded) c = std::max(c, -3.0f);
      }
    ASSERT_EQ(got, want) << m << "x" << n << "x" << k << " transposed " << transposed_a
                         << transposed_b << " with " << with;
  }
}

TEST(CpuProduct, TheLeastValueLeavesNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (cpu::IsaLevel level : levels()) {
    std::vector<float> a{nan, 1, -1}, b(cpu::kProductColumns, 1), c(3);
    cpu::RowProduct product{.m = 3, .n = 1, .k = 1, .a = a.data(), .a_row = 1, .a_col = 1};
    product.b = b.data(), product.c = c.data(), product.c_row = 1, product.least = 0;
    cpu::lane_table(level).multiply_rows(product);
    EXPECT_TRUE(std::isnan(c[0]) && c[1] == 1 && c[2] == 0) << cpu::isa_level_name(level);
  }
}

TEST(CpuProduct, ShapesAtEveryLevel) {
  for (cpu::IsaLevel level : levels())
    for (int64_t m : {0, 1, 2, 3, 4, 5, 6, 7, 8, 13})
      for (int64_t n : {1, 3, 4, 7, 16, 17, 31, 33, 48, 64, 65, 130})
        for (int64_t k : {0, 1, 5, 64})
          for (int transposed = 0; transposed < 4; ++transposed) {
            SCOPED_TRACE(cpu::isa_level_name(level));
            expect_product(m, n, k, transposed & 1, transposed & 2, cpu::lane_table(level));
          }
}

TEST(CpuProduct, PanelsAtEveryLevel) {
  for (cpu::IsaLevel level : levels())
    for (int64_t m : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 29})
      for (int64_t n : {1, 15, 17, 33, 47, 48})
        for (int64_t k : {0, 1, 7, 16, 33, 47, 63, 64, 67, 257}) {
          SCOPED_TRACE(cpu::isa_level_name(level));
          expect_product(m, n, k, false, false, cpu::lane_table(level), /*in_panel=*/true);
        }
}

TEST(CpuProduct, PacksColumnsAtEveryLevel) {
  for (cpu::IsaLevel level : levels())
    for (int64_t rows : {0, 1, 15, 16, 17, 40})
      for (int64_t cols : {1, 15, 16, 17, 48})
        for (auto [row, col] : {std::pair<int64_t, int64_t>{50, 1}, {1, 43}, {150, 3}, {-50, 1}}) {
          SCOPED_TRACE(cpu::isa_level_name(level));
          std::vector<float> from = numbers(41 * 150 + 48 * 43, 8);
          const float* first = from.data() + (row < 0 ? 40 * 50 : 0);
          int64_t to_row = whole_vectors(cols);
          std::vector<float> got(static_cast<size_t>(rows * to_row + 1), -1), want = got;
          for (int64_t i = 0; i < rows * to_row; ++i) {
            int64_t r = i / to_row, c = i % to_row;
            want[static_cast<size_t>(i)] = c < cols ? first[r * row + c * col] : 0;
          }
          cpu::lane_table(level).pack_columns(rows, cols, first, row, col, got.data(), to_row);
          ASSERT_EQ(got, want) << rows << "x" << cols << " by " << row << ", " << col;
        }
}

TEST(CpuGelu, EveryLevel) {
  constexpr int64_t kRows = 3, kColumns = 37, kStep = 40;
  for (cpu::IsaLevel level : levels()) {
    SCOPED_TRACE(cpu::isa_level_name(level));
    std::vector<float> x(kRows * kStep);
    for (size_t i = 0; i < x.size(); ++i) x[i] = (static_cast<float>(i) - 60.0f) / 6;
    std::vector<float> by_erf = x, by_tanh = x;
    cpu::lane_table(level).gelu_erf(kRows, kColumns, by_erf.data(), kStep);
    cpu::lane_table(level).gelu_tanh(kRows, kColumns, by_tanh.data(), kStep);
    for (size_t i = 0; i < x.size(); ++i) {
      bool untouched = i % kStep >= kColumns;
      double v = x[i], u = 0.7978845608028654 * (v + 0.044715 * v * v * v);
      double off = tolerance("gelu") * std::max(1.0, std::abs(v));
      EXPECT_NEAR(by_erf[i], untouched ? v : 0.5 * v * (1 + std::erf(v * std::sqrt(0.5))), off);
      EXPECT_NEAR(by_tanh[i], untouched ? v : 0.5 * v * (1 + std::tanh(u)), off);
    }
    float special[] = {INFINITY, NAN, 0.0f};
    cpu::lane_table(level).gelu_erf(1, 3, special, 3);
    EXPECT_TRUE(special[0] == INFINITY && std::isnan(special[1]) && special[2] == 0);
  }
}

struct AttentionShape {
  int64_t matrices, rows, columns, depth, outs;
};

// Row i, column j of a matrix of the call.
size_t at(const BatchMatrix& matrix, int64_t element, int64_t i, int64_t j) {
  return static_cast<size_t>(matrix.offset + element * matrix.batch[0] + i * matrix.row +
                             j * matrix.col);
}

std::vector<float> attention(const AttentionCall& call, const std::vector<float>& q,
                             const std::vector<float>& k, const std::vector<float>& v,
                             size_t result_elements) {
  std::vector<float> result(result_elements);
  for (int64_t e = 0; e < call.batch[0]; ++e)
    for (int64_t r = 0; r < call.rows; ++r) {
      std::vector<double> weights;
      double total = 0;
      for (int64_t c = 0; c < call.columns; ++c) {
        double score = 0;
        for (int64_t d = 0; d < call.depth; ++d)
          score += q[at(call.queries, e, r, d)] * k[at(call.keys, e, c, d)];
        for (const PostOp& op : call.post_ops) {
          if (op.kind == PostOp::Kind::kAdd) score += op.value;
          if (op.kind == PostOp::Kind::kSubtract) score -= op.value;
          if (op.kind == PostOp::Kind::kMultiply) score *= op.value;
          if (op.kind == PostOp::Kind::kDivide) score /= op.value;
        }
        weights.push_back(std::exp(score));
        total += weights.back();
      }
      for (int64_t o = 0; o < call.outs; ++o) {
        double sum = 0;
        for (int64_t c = 0; c < call.columns; ++c)
          sum += weights[static_cast<size_t>(c)] * v[at(call.values, e, c, o)];
        result[at(call.result, e, r, o)] = static_cast<float>(sum / total);
      }
    }
  return result;
}

BatchMatrix dense(int64_t rows, int64_t cols, bool transposed) {
  return {0, {rows * cols}, transposed ? 1 : cols, transposed ? rows : 1};
}

void expect_attention(const AttentionShape& s, int transposed, const PostOpList& post_ops) {
  AttentionCall call;
  call.batch = {s.matrices};
  call.rows = s.rows, call.columns = s.columns, call.depth = s.depth, call.outs = s.outs;
  call.queries = dense(s.rows, s.depth, transposed & 1);
  call.keys = dense(s.columns, s.depth, transposed & 2);
  call.values = dense(s.columns, s.outs, transposed & 4);
  call.result = dense(s.rows, s.outs, transposed & 8);
  call.post_ops = post_ops;
  auto small = [](std::vector<float> values) {
    for (float& value : values) value /= 16;
    return values;
  };
  std::vector<float> q = small(numbers(s.matrices * s.rows * s.depth, 1));
  std::vector<float> k = small(numbers(s.matrices * s.columns * s.depth, 2));
  std::vector<float> v = small(numbers(s.matrices * s.columns * s.outs, 3));
  std::vector<float> got(static_cast<size_t>(s.matrices * s.rows * s.outs));
  std::vector<float> want = attention(call, q, k, v, got.size());
  auto created = cpu::create_attention(call, table());
  ASSERT_TRUE(created.ok()) << created.error().to_string();
  for (int run = 0; run < 2; ++run) {  // the second on other keys in the same place
    cpu::CallOperand operands[] = {operand(q), operand(k), operand(v), operand(got)};
    ASSERT_TRUE((*created)->run(operands).ok());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], tolerance("attention_call") * std::max(1.0f, std::abs(want[i])))
          << s.matrices << "x" << s.rows << "x" << s.columns << "x" << s.depth << "x" << s.outs
          << " transposed " << transposed << " element " << i << " run " << run;
    for (float& value : k) value = -value;
    want = attention(call, q, k, v, got.size());
  }
}

TEST(CpuAttention, LayoutsAndBlocks) {
  const AttentionShape shapes[] = {{1, 1, 1, 1, 1},    {3, 7, 5, 3, 2},     {2, 13, 37, 16, 32},
                                   {2, 64, 48, 8, 16}, {1, 40, 2100, 4, 3}, {5, 100, 200, 17, 33}};
  for (const AttentionShape& shape : shapes)
    for (int transposed = 0; transposed < 16; ++transposed) expect_attention(shape, transposed, {});
}

TEST(CpuAttention, ConstantsAfterTheScores) {
  using Kind = PostOp::Kind;
  auto with = [](Kind kind, float value) { return PostOp{kind, PostOp::With::kValue, 0, value}; };
  AttentionShape shape{2, 9, 21, 5, 7};
  expect_attention(shape, 0, {with(Kind::kMultiply, 0.3f)});
  expect_attention(shape, 0, {with(Kind::kDivide, 8)});
  expect_attention(shape, 0, {with(Kind::kDivide, 3), with(Kind::kAdd, 0.25f)});
  expect_attention(shape, 0, {with(Kind::kSubtract, 1), with(Kind::kMultiply, 0.5f)});
  expect_attention(shape, 0, {with(Kind::kMultiply, 2), with(Kind::kDivide, 5)});
}

}  // namespace
}  // namespace tuff::test
