// Matmul calls against plain loops: odd shapes, strides, batches, types.
#ifdef TUFF_HAS_ONEDNN
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>

#include "backend/cpu/call_choice.h"
#include "backend/cpu/gemm/converted_gemm.h"
#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/openmp_calls.h"
#include "tests/unit/cpu/call_operands.h"

extern "C" const void* dnnl_version();

namespace tuff::test {
namespace {

struct Naive {
  const MatmulCall& call;
  const std::vector<float>&a, &b;
  std::vector<float>& c;

  void run(size_t dim, int64_t a0, int64_t b0, int64_t c0) {
    if (dim < call.batch.size()) {
      for (int64_t i = 0; i < call.batch[dim]; ++i)
        run(dim + 1, a0 + i * call.a_batch_strides[dim], b0 + i * call.b_batch_strides[dim],
            c0 + i * call.c_batch_strides[dim]);
      return;
    }
    for (int64_t i = 0; i < call.m; ++i)
      for (int64_t j = 0; j < call.n; ++j) {
        float sum = 0;
        for (int64_t l = 0; l < call.k; ++l)
          sum += a[static_cast<size_t>(a0 + i * call.a_row + l * call.a_col)] *
                 b[static_cast<size_t>(b0 + l * call.b_row + j * call.b_col)];
        c[static_cast<size_t>(c0 + i * call.c_row + j * call.c_col)] = sum;
      }
  }
};

Result<cpu::LibraryCallPtr> matmul(const MatmulCall& call) {
  TUFF_ASSIGN(cpu::ChosenCall chosen, cpu::choose_matmul(call, true, true, table(), owner()));
  return std::move(chosen.call);
}

// Four runs: contents that may change, then the same ones thrice (plain,
// packed, the packed copy again), then others under new versions.
void expect_naive_of(MatmulCall call, const std::string& what) {
  std::vector<float> a = numbers(40000, 1), b = numbers(40000, 2), c(40000, 5), want = c;
  Naive{call, a, b, want}.run(0, call.a_offset, call.b_offset, call.c_offset);
  DType out = call.result_type;
  auto created = on_another_thread([&] { return matmul(call); });
  ASSERT_TRUE(created.ok()) << what << created.error().to_string();
  Stored a_stored(a, call.a_type()), b_stored(b, call.b_type()), expected(want, out);
  for (uint64_t version : {0, 7, 7, 7}) {
    Stored result(c, out);
    cpu::CallOperand operands[] = {a_stored.operand(version), b_stored.operand(version),
                                   result.operand()};
    Status status = (*created)->run(operands);
    ASSERT_TRUE(status.ok()) << what << status.error().to_string();
    ASSERT_EQ(differences(result, expected), 0u) << what << " version " << version;
  }
  a = numbers(40000, 3), b = numbers(40000, 4);
  Naive{call, a, b, want}.run(0, call.a_offset, call.b_offset, call.c_offset);
  Stored a_changed(a, call.a_type()), b_changed(b, call.b_type()), changed(want, out);
  for (int run = 0; run < 2; ++run) {  // the second packs anew
    Stored result(c, out);
    cpu::CallOperand operands[] = {a_changed.operand(8), b_changed.operand(9), result.operand()};
    ASSERT_TRUE((*created)->run(operands).ok());
    ASSERT_EQ(differences(result, changed), 0u) << what << " after a change";
  }
}

void expect_naive_in(std::pair<DType, DType> types, MatmulCall call, const std::string& what) {
  call.operand_type = types.first, call.result_type = types.second;
  expect_naive_of(call, what);
}

void expect_naive(const MatmulCall& call, const std::string& what) {
  for (auto types : kTypes) expect_naive_in(types, call, what + type_names(types));
}

MatmulCall call_of(int64_t m, int64_t n, int64_t k) {
  MatmulCall call;
  call.m = m, call.n = n, call.k = k;
  call.a_row = k, call.a_col = 1;
  call.b_row = n, call.b_col = 1;
  call.c_row = n, call.c_col = 1;
  return call;
}

// Few rows a matrix, by rows and by columns, times one matrix, and results by columns: of a batch
// whose matrices lie in order, and in another.
TEST(CpuMatmul, ResultsByColumns) {
  for (int64_t m : {1, 3, 12})
    for (int64_t n : {13, 100})
      for (bool by_columns : {false, true})
        for (bool in_order : {false, true}) {
          MatmulCall call = call_of(m, n, 41);
          call.batch = {3, 7};
          call.a_batch_strides = {7 * m * 41, m * 41}, call.b_batch_strides = {0, 0};
          call.c_batch_strides = {7 * m * n, m * n};
          if (!in_order) call.c_batch_strides = {m * n, 3 * m * n};
          if (by_columns) call.a_row = 1, call.a_col = m;
          call.a_offset = 2, call.b_offset = 3, call.c_offset = 1;
          call.c_row = 1, call.c_col = m;
          expect_naive(call, fmt::format("{} x {}, {}, {}", m, n, by_columns, in_order));
        }
}

// Few results, each of a sum that is added up in parts: sides that lie by rows and by columns.
TEST(CpuMatmul, LongSums) {
  const int64_t shapes[][3] = {{16, 16, 8192}, {2, 8, 70001}, {48, 48, 9001}, {7, 33, 20000},
                               {2, 2, 270001}, {3, 5, 80001}, {48, 3, 9001}};
  for (auto& [m, n, k] : shapes)
    for (int transposed = 0; transposed < 8; ++transposed) {
      MatmulCall call = call_of(m, n, k);
      call.a_offset = 2, call.b_offset = 3, call.c_offset = 1;
      if (transposed & 1) call.a_row = 1, call.a_col = m;
      if (transposed & 2) call.b_row = 1, call.b_col = k;
      if (transposed & 4) call.c_row = 1, call.c_col = m;
      std::vector<float> a = numbers(m * k + 2, 1), b = numbers(n * k + 3, 2);
      std::vector<float> c(static_cast<size_t>(m * n + 1), 5), want = c;
      Naive{call, a, b, want}.run(0, 2, 3, 1);
      auto created = matmul(call);
      ASSERT_TRUE(created.ok());
      ASSERT_TRUE((*created)->run(std::array{operand(a), operand(b), operand(c)}).ok());
      ASSERT_EQ(c, want) << m << "x" << n << "x" << k << " transposed " << transposed;
    }
}

TEST(CpuMatmul, ShapesAndTransposes) {
  const int64_t shapes[][3] = {{1, 1, 1},    {1, 17, 5},   {17, 1, 5},    {5, 7, 1},
                               {13, 29, 31}, {64, 64, 64}, {33, 100, 65}, {3, 5, 0}};
  for (auto& [m, n, k] : shapes)
    for (int transposed = 0; transposed < 8; ++transposed) {
      MatmulCall call = call_of(m, n, k);
      if (transposed & 1) call.a_row = 1, call.a_col = m;
      if (transposed & 2) call.b_row = 1, call.b_col = k;
      if (transposed & 4) call.c_row = 1, call.c_col = m;
      expect_naive(call, std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
                             " transposed " + std::to_string(transposed));
    }
}

TEST(CpuMatmul, NarrowOperandsAreWidened) {
  const int64_t shapes[][3] = {{1, 17, 5},   {17, 1, 5},    {5, 7, 1},     {13, 29, 31},
                               {3, 96, 130}, {140, 53, 64}, {200, 100, 70}};
  using Narrow = std::optional<DType>;
  const std::pair<Narrow, Narrow> types[] = {
      {{}, DType::kBF16}, {DType::kBF16, {}}, {{}, DType::kF16}, {DType::kF16, DType::kBF16}};
  for (auto& [m, n, k] : shapes)
    for (auto [a, b] : types)
      for (int transposed = 0; transposed < 8; ++transposed) {
        MatmulCall call = call_of(m, n, k);
        call.a_narrow = a, call.b_narrow = b;
        if (transposed & 1) call.a_row = 1, call.a_col = m;
        if (transposed & 2) call.b_row = 1, call.b_col = k;
        if (transposed & 4) call.c_row = 1, call.c_col = m;
        expect_naive_of(call, std::to_string(m) + "x" + std::to_string(n) + "x" +
                                  std::to_string(k) + " transposed " + std::to_string(transposed) +
                                  type_names({call.a_type(), call.b_type()}));
      }
  MatmulCall call = call_of(130, 50, 20);
  call.b_narrow = DType::kBF16;
  call.b_offset = 3, call.b_row = 150, call.b_col = 2;
  expect_naive_of(call, "no unit stride in B");
}

TEST(CpuMatmul, OffsetsAndStridesOfViews) {
  MatmulCall call = call_of(9, 11, 6);
  call.a_offset = 3, call.a_row = 20;
  call.b_offset = 5, call.b_row = 31;
  call.c_offset = 1, call.c_row = 13;
  expect_naive(call, "padded rows");
  call.a_col = 2, call.b_col = 2;
  expect_naive(call, "no unit stride in A and B");
  call.c_row = 40, call.c_col = 3;
  expect_naive(call, "no unit stride in C");
  call.a_offset = 400, call.a_row = -20;
  expect_naive(call, "reversed rows of A");
  call = call_of(9, 11, 6);
  call.a_row = 0;
  expect_naive(call, "all rows of A the same");
  call.b_col = 0;
  expect_naive(call, "all columns of B the same");
}

TEST(CpuMatmul, Batches) {
  MatmulCall call = call_of(5, 6, 7);
  call.batch = {2, 3};
  call.a_batch_strides = {3 * 35, 35};
  call.b_batch_strides = {3 * 42, 42};
  call.c_batch_strides = {3 * 30, 30};
  expect_naive(call, "contiguous");
  call.b_batch_strides = {0, 0};
  expect_naive(call, "one B for all");
  call.b_batch_strides = {42, 0};
  expect_naive(call, "one B per outer batch");
  call.a_batch_strides = {0, 35};
  expect_naive(call, "A and B broadcast crosswise");
  // Heads of attention: [batch, sequence, head, feature] read per head.
  call = call_of(5, 6, 7);
  call.batch = {2, 3};
  call.a_batch_strides = {5 * 21, 7}, call.a_row = 21;
  call.b_batch_strides = {6 * 21, 7}, call.b_row = 1, call.b_col = 21;
  call.c_batch_strides = {5 * 18, 6}, call.c_row = 18;
  expect_naive(call, "heads");
  call.m = 1;
  call.a_row = 0, call.c_row = 0;
  expect_naive(call, "heads, one row");
  call.batch = {2, 1, 3};
  call.a_batch_strides = {105, 0, 7}, call.b_batch_strides = {126, 0, 7};
  call.c_batch_strides = {90, 0, 6};
  expect_naive(call, "three batch dimensions");
}

// What is packed at its second use is added up as it was at the first.
TEST(CpuMatmul, EveryRunGivesTheSameBits) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{3, 3, 5}, {3, 2, 17}, {7, 64, 33}, {40, 24, 70}}) {
    MatmulCall call = call_of(m, n, k);
    call.batch = {2};
    call.a_batch_strides = {k}, call.a_row = 2 * k;
    call.b_batch_strides = {k}, call.b_row = 1, call.b_col = 2 * k;
    call.c_batch_strides = {m * n};
    std::vector<float> a(static_cast<size_t>(2 * m * k)), b(static_cast<size_t>(2 * n * k));
    for (size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<float>(i));
    for (size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<float>(i));
    auto made = matmul(call);
    ASSERT_TRUE(made.ok());
    std::vector<float> first;
    for (uint64_t version : {7, 8, 8, 8}) {
      std::vector<float> c(static_cast<size_t>(2 * m * n));
      cpu::CallOperand operands[] = {operand(a, version), operand(b, version), operand(c)};
      ASSERT_TRUE((*made)->run(operands).ok());
      if (first.empty()) first = c;
      ASSERT_EQ(c, first) << m << "x" << n << "x" << k << " version " << version;
    }
  }
}

TEST(CpuMatmul, PostOps) {
  const int64_t shapes[][3] = {{1, 17, 5}, {5, 7, 3}, {64, 64, 64}, {33, 100, 65}};
  for (auto [in, out] : kTypes)
    for (auto& [m, n, k] : shapes) {
      MatmulCall call = call_of(m, n, k);
      std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 2);
      std::vector<float> c(static_cast<size_t>(m * n)), want = c;
      Naive{call, a, b, want}.run(0, 0, 0, 0);
      PostOperands post(n, m * n);
      post.apply(want, n);
      call.post_ops = PostOperands::ops();
      call.operand_type = in, call.result_type = out;
      auto created = matmul(call);
      ASSERT_TRUE(created.ok()) << created.error().to_string();
      Stored a_stored(a, in), b_stored(b, in), expected(want, out), result(c, out);
      for (uint64_t version : {0, 7, 7, 7}) {
        cpu::CallOperand operands[] = {a_stored.operand(version), b_stored.operand(version),
                                       operand(post.bias),        operand(post.scale),
                                       operand(post.full),        result.operand()};
        ASSERT_TRUE((*created)->run(operands).ok());
        ASSERT_EQ(differences(result, expected), 0u)
            << m << "x" << n << "x" << k << type_names({in, out}) << " version " << version;
      }
    }
}

// What is added or subtracted lies where the result goes: a donated argument.
TEST(CpuMatmul, PostOpsUpdateInPlace) {
  const int64_t shapes[][3] = {{1, 17, 5}, {5, 7, 3}, {64, 64, 2000}, {33, 100, 65}, {7, 3, 1}};
  for (auto& [m, n, k] : shapes)
    for (bool columns : {false, true}) {
      MatmulCall call = call_of(m, n, k);
      if (columns) call.c_row = 1, call.c_col = m;
      std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 2);
      std::vector<float> old = numbers(m * n, 7), other = numbers(m * n, 8), want(old.size());
      Naive{call, a, b, want}.run(0, 0, 0, 0);
      for (size_t i = 0; i < want.size(); ++i) want[i] = old[i] - (want[i] + other[i]) * 0.5f;
      using Kind = PostOp::Kind;
      using With = PostOp::With;
      call.post_ops = {{Kind::kAdd, With::kElement},
                       {Kind::kMultiply, With::kValue, 0, 0.5f},
                       {Kind::kSubtract, With::kElement},
                       {Kind::kMultiply, With::kValue, 0, -1.0f}};
      EXPECT_TRUE(updates_in_place(call, 2) && updates_in_place(call, 3));
      EXPECT_FALSE(updates_in_place(call, 0) || updates_in_place(call, 4));
      auto created = matmul(call);
      ASSERT_TRUE(created.ok()) << created.error().to_string();
      for (uint64_t version : {0, 7, 7}) {
        std::vector<float> apart(old.size()), in_place = old;
        cpu::CallOperand operands[] = {operand(a, version), operand(b, version), operand(other),
                                       operand(old), operand(apart)};
        ASSERT_TRUE((*created)->run(operands).ok());
        ASSERT_EQ(apart, want) << m << "x" << n << "x" << k << " version " << version;
        operands[3] = operands[4] = operand(in_place);
        ASSERT_TRUE((*created)->run(operands).ok());
        ASSERT_EQ(in_place, want) << m << "x" << n << "x" << k << " version " << version;
      }
    }
}

// Larger than what is converted at a time, in each direction, with a rest.
TEST(CpuMatmul, ConvertedInPieces) {
  const int64_t shapes[][3] = {{70, 60, 20001}, {1100, 1030, 3}, {7, 2100, 600}, {1, 4100, 300}};
  for (auto& [m, n, k] : shapes)
    for (bool transposed : {false, true}) {
      MatmulCall call = call_of(m, n, k);
      if (transposed) call.a_row = 1, call.a_col = m, call.b_row = 1, call.b_col = k;
      std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 2);
      std::vector<float> c(static_cast<size_t>(m * n)), want = c;
      Naive{call, a, b, want}.run(0, 0, 0, 0);
      PostOperands post(n, m * n);
      post.apply(want, n);
      call.post_ops = PostOperands::ops();
      call.operand_type = call.result_type = DType::kBF16;
      auto created = cpu::create_converted_matmul(call, table(), owner());
      ASSERT_TRUE(created.ok()) << created.error().to_string();
      Stored a_stored(a, DType::kBF16), b_stored(b, DType::kBF16), expected(want, DType::kBF16);
      Stored result(c, DType::kBF16);
      cpu::CallOperand operands[] = {a_stored.operand(),  b_stored.operand(), operand(post.bias),
                                     operand(post.scale), operand(post.full), result.operand()};
      ASSERT_TRUE((*created)->run(operands).ok());
      ASSERT_EQ(differences(result, expected), 0u) << m << "x" << n << "x" << k;
    }
}

TEST(CpuMatmul, ConvertedBatchByBatch) {
  MatmulCall call = call_of(110, 90, 130);
  call.batch = {3, 20, 2};
  call.a_batch_strides = {20 * 110 * 130, 110 * 130, 0};
  call.b_batch_strides = {2 * 90 * 130, 0, 90 * 130};
  call.c_batch_strides = {40 * 110 * 90, 2 * 110 * 90, 110 * 90};
  std::vector<float> a = numbers(60 * 110 * 130, 1), b = numbers(6 * 90 * 130, 2);
  std::vector<float> c(120 * 110 * 90), want = c;
  Naive{call, a, b, want}.run(0, 0, 0, 0);
  call.operand_type = call.result_type = DType::kF16;
  auto created = cpu::create_converted_matmul(call, table(), owner());
  ASSERT_TRUE(created.ok()) << created.error().to_string();
  Stored a_stored(a, DType::kF16), b_stored(b, DType::kF16), expected(want, DType::kF16);
  Stored result(c, DType::kF16);
  cpu::CallOperand operands[] = {a_stored.operand(), b_stored.operand(), result.operand()};
  ASSERT_TRUE((*created)->run(operands).ok());
  ASSERT_EQ(differences(result, expected), 0u);
}

// Strides of a tensor of these three sizes whose dimensions lie in memory in `order`.
std::array<int64_t, 3> strides_in(const std::array<int64_t, 3>& sizes,
                                  const std::array<size_t, 3>& order) {
  std::array<int64_t, 3> strides{};
  int64_t stride = 1;
  for (size_t i = 3; i-- > 0; stride *= sizes[order[i]]) strides[order[i]] = stride;
  return strides;
}

// A bias and a residual, with operands in any order in memory.
void expect_post_ops_of_batches(int64_t batch, int64_t m, int64_t n, int64_t k) {
  std::vector<float> bias = numbers(n, 5), full = numbers(batch * m * n, 7);
  std::array<size_t, 3> a_order{0, 1, 2};
  do {
    for (int variant = 0; variant < 4; ++variant) {
      bool shared_b = variant & 1, columns_of_b = variant & 2;
      MatmulCall call = call_of(m, n, k);
      auto a = strides_in({batch, m, k}, a_order);
      call.batch = {batch};
      call.a_batch_strides = {a[0]}, call.a_row = a[1], call.a_col = a[2];
      call.b_batch_strides = {shared_b ? 0 : k * n};
      if (columns_of_b) call.b_row = 1, call.b_col = k;
      call.c_batch_strides = {m * n};
      std::vector<float> left = numbers(batch * m * k, 1), right = numbers(batch * k * n, 2);
      std::vector<float> got(full.size()), want = got;
      Naive{call, left, right, want}.run(0, 0, 0, 0);
      for (size_t i = 0; i < want.size(); ++i)
        want[i] = want[i] + bias[i % static_cast<size_t>(n)] - full[i];
      call.post_ops = {{PostOp::Kind::kAdd, PostOp::With::kColumn},
                       {PostOp::Kind::kSubtract, PostOp::With::kElement}};
      auto created = matmul(call);
      ASSERT_TRUE(created.ok()) << created.error().to_string();
      for (uint64_t version : {0, 7, 7}) {
        cpu::CallOperand operands[] = {operand(left, version), operand(right, version),
                                       operand(bias), operand(full), operand(got)};
        ASSERT_TRUE((*created)->run(operands).ok());
        ASSERT_EQ(got, want) << batch << "x" << m << "x" << n << "x" << k << " order of A "
                             << a_order[0] << a_order[1] << a_order[2] << " variant " << variant
                             << " version " << version;
      }
    }
  } while (std::next_permutation(a_order.begin(), a_order.end()));
}

TEST(CpuMatmul, PostOpsOfBatches) {
  expect_post_ops_of_batches(8, 8, 32, 128);
  expect_post_ops_of_batches(3, 5, 7, 11);
  expect_post_ops_of_batches(2, 1, 17, 64);
  expect_post_ops_of_batches(1, 33, 100, 65);
  expect_post_ops_of_batches(5, 16, 1, 3);
}

double least_ms(const std::function<void()>& run) {
  double least = 1e9;
  for (int i = 0; i < 10; ++i) {
    auto begin = std::chrono::steady_clock::now();
    run();
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, took.count());
  }
  return least;
}

// Where oneDNN has only reference code for the layout, plain loops are ten times as fast.
TEST(CpuMatmul, PostOpsOfOneColumnAreFast) {
  constexpr int64_t kRows = 100, kDepth = 4000;
  MatmulCall call = call_of(kRows, 1, kDepth);
  std::vector<float> a = numbers(kRows * kDepth, 1), b = numbers(kDepth, 2),
                     full = numbers(kRows, 7), shift{2}, scale{4}, c(kRows), want = c;
  double plain_ms = least_ms([&] { Naive{call, a, b, want}.run(0, 0, 0, 0); });
  for (size_t i = 0; i < want.size(); ++i) want[i] = (want[i] + 2) * 4 + full[i];
  call.post_ops = {{PostOp::Kind::kAdd, PostOp::With::kScalar},
                   {PostOp::Kind::kMultiply, PostOp::With::kScalar},
                   {PostOp::Kind::kAdd, PostOp::With::kElement}};
  auto created = cpu::create_onednn_matmul(call, true, false, table(), owner());
  ASSERT_TRUE(created.ok()) << created.error().to_string();
  cpu::CallOperand operands[] = {operand(a),     operand(b),    operand(shift),
                                 operand(scale), operand(full), operand(c)};
  double ms = least_ms([&] { ASSERT_TRUE((*created)->run(operands).ok()); });
  EXPECT_LT(ms, 2 * plain_ms);
  EXPECT_EQ(c, want);
}

// Matrices of a batch row by row beside each other: C is [rows, batch, columns] in memory.
void expect_interleaved_batches(MatmulCall call) {
  std::vector<float> bias = numbers(call.n, 5);
  std::vector<float> a = numbers(20 * 7, 1), b = numbers(20 * 7 * 17, 2), c(20 * 17), want = c;
  Naive{call, a, b, want}.run(0, 0, 0, 0);
  for (size_t i = 0; i < want.size(); ++i)
    want[i] = want[i] * 0.5f + bias[i % static_cast<size_t>(call.n)];
  call.post_ops = {{PostOp::Kind::kMultiply, PostOp::With::kValue, 0, 0.5f},
                   {PostOp::Kind::kAdd, PostOp::With::kColumn}};
  auto created = matmul(call);
  ASSERT_TRUE(created.ok()) << created.error().to_string();
  for (uint64_t version : {0, 7, 7}) {
    cpu::CallOperand operands[] = {operand(a, version), operand(b, version), operand(bias),
                                   operand(c)};
    ASSERT_TRUE((*created)->run(operands).ok());
    ASSERT_EQ(c, want) << "version " << version;
  }
}

TEST(CpuMatmul, ColumnsOfInterleavedBatches) {
  MatmulCall call = call_of(10, 17, 7);
  call.batch = {2};
  call.a_batch_strides = {70}, call.b_batch_strides = {7 * 17};
  call.c_batch_strides = {17}, call.c_row = 2 * 17;
  expect_interleaved_batches(call);
  call = call_of(1, 17, 7);
  call.batch = {10, 2};
  call.a_batch_strides = {14, 7}, call.b_batch_strides = {0, 7 * 17};
  call.c_batch_strides = {2 * 17, 17};
  expect_interleaved_batches(call);
}

TEST(CpuMatmul, OneDnnAsksOpenMpForNothingThatWeDoNotAnswer) {
  EXPECT_TRUE(cpu::answer_openmp_calls(reinterpret_cast<const void*>(&dnnl_version)));
}

}  // namespace
}  // namespace tuff::test
#endif
