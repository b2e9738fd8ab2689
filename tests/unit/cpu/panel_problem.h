// Products of rows and weights, as the calls with packed weights are given them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/gemm/panel_product.h"
#include "ir/evaluate/tolerances.h"
#include "tests/unit/cpu/call_operands.h"

namespace tuff::test {

using Kind = PostOp::Kind;
using With = PostOp::With;

// What may follow a product; of factors of 2^50 and 2^-59 folding could make another number.
inline const PostOp kBias{Kind::kAdd, With::kColumn}, kResidual{Kind::kAdd, With::kElement};
inline const PostOp kSmall{Kind::kMultiply, With::kValue, 0, 0x1p-9f};
inline const PostOp kHuge{Kind::kMultiply, With::kValue, 0, 0x1p50f};
inline const PostOp kTiny{Kind::kMultiply, With::kValue, 0, 0x1p-59f};
inline const PostOp kGelu{Kind::kGeluErf};

inline double gelu(Kind kind, double x) {
  if (kind == Kind::kGeluErf) return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

inline double apply(const PostOp& op, double x, double y) {
  switch (op.kind) {
    case Kind::kAdd: return x + y;
    case Kind::kMultiply: return x * y;
    default: return gelu(op.kind, x);
  }
}

// [batch.., m, k] x [k, n], or x [batch.., n, k] as columns; rows of A where the call says, the
// rest dense.
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

  // B's columns lie side by side.
  void turn_b() { call.b_row = 1, call.b_col = call.k; }
  // And each matrix of the batch has its own ones.
  void give_each_its_b() {
    turn_b();
    int64_t size = call.n * call.k;
    for (size_t d = call.batch.size(); d-- > 0; size *= call.batch[d])
      call.b_batch_strides[d] = size;
    b = numbers(size, 2);
  }

  int64_t rows() const { return static_cast<int64_t>(full.size()) / call.n; }
  int64_t place_of(int64_t row) const {
    return row % call.m * call.a_row + place_of_matrix(row, call.a_batch_strides);
  }
  int64_t place_of_matrix(int64_t row, const std::vector<int64_t>& strides) const {
    int64_t at = 0;
    row /= call.m;
    for (size_t d = call.batch.size(); d-- > 0; row /= call.batch[d])
      at += row % call.batch[d] * strides[d];
    return at;
  }

  std::vector<double> want() const {
    std::vector<double> result(full.size());
    for (int64_t r = 0; r < rows(); ++r)
      for (int64_t j = 0; j < call.n; ++j) {
        auto at = static_cast<size_t>(r * call.n + j);
        int64_t column = place_of_matrix(r, call.b_batch_strides) + j * call.b_col;
        double x = 0;
        for (int64_t l = 0; l < call.k; ++l)
          x += a[static_cast<size_t>(place_of(r) + l * call.a_col)] *
               b[static_cast<size_t>(column + l * call.b_row)];
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

// Runs it with weights that are packed and kept, the same again, and not kept twice; each has to
// give the same.
inline void expect_product(Problem& p, cpu::LibraryCall& product, const std::string& what) {
  std::vector<double> want = p.want();
  double largest = 1;
  for (double x : want) largest = std::max(largest, std::abs(x));
  std::vector<float> first;
  for (uint64_t version : {7, 7, 0, 8}) {
    std::vector<float> got(want.size(), NAN);
    std::vector<cpu::CallOperand> operands{operand(p.a), operand(p.b, version)};
    for (const PostOp& op : p.call.post_ops) {
      if (op.with == With::kColumn) operands.push_back(operand(p.bias));
      if (op.with == With::kElement) operands.push_back(operand(p.full));
    }
    operands.push_back(operand(got));
    ASSERT_TRUE(product.run(operands).ok());
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(got[i], want[i], tolerance("product") * largest) << what << " at " << i;
    if (first.empty()) first = got;
    ASSERT_EQ(got, first) << what << " version " << version;
  }
}

}  // namespace tuff::test
