// Blocked matrix product under dot_general and convolution. The operands are
// functions, so that any dimension numbers, padding and dilation become index
// arithmetic while packing; the inner loop is over packed doubles or integers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "ir/evaluate/scalar.h"

namespace tuff::eval {

// What products of T accumulate in: double for floats (exact products of f32, one
// rounding at the end), uint64 for integers (exact modulo every result width),
// and a count for booleans (a sum of ands is an or).
template <typename T>
using Accumulator = std::conditional_t<kIsFloat<T>, double, uint64_t>;

template <typename T>
Accumulator<T> to_accumulator(T value) {
  if constexpr (kIsFloat<T>)
    return static_cast<double>(widen(value));
  else
    return static_cast<uint64_t>(static_cast<int64_t>(widen(value)));
}

template <typename T, typename A>
T from_accumulator(A value) {
  if constexpr (kIsBool<T>)
    return {static_cast<uint8_t>(value != 0 ? 1 : 0)};
  else
    return narrow<T>(value);
}

// c[j] += sum over k of a[k] * b[k][j]; four k at a time to halve the traffic on c.
template <typename A>
void multiply_row(const A* a, const A* b, int64_t row_length, int64_t depth, int64_t n, A* c) {
  int64_t k = 0;
  for (; k + 4 <= depth; k += 4) {
    const A *b0 = b + k * row_length, *b1 = b0 + row_length, *b2 = b1 + row_length,
            *b3 = b2 + row_length;
    A a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
    for (int64_t j = 0; j < n; ++j) c[j] += (a0 * b0[j] + a1 * b1[j]) + (a2 * b2[j] + a3 * b3[j]);
  }
  for (; k < depth; ++k)
    for (int64_t j = 0; j < n; ++j) c[j] += a[k] * b[k * row_length + j];
}

// store(m, n, sum over k of left(m, k) * right(k, n)) for all m < rows, n < columns.
template <typename A, typename Left, typename Right, typename Store>
void blocked_product(int64_t rows, int64_t columns, int64_t depth, Left left, Right right,
                     Store store) {
  constexpr int64_t kRows = 128, kColumns = 256, kDepth = 128;
  int64_t block_rows = std::min(rows, kRows), block_columns = std::min(columns, kColumns);
  int64_t block_depth = std::min(depth, kDepth);
  std::vector<A> a(static_cast<size_t>(block_rows * block_depth));
  std::vector<A> b(static_cast<size_t>(block_depth * block_columns));
  std::vector<A> c(static_cast<size_t>(block_rows * block_columns));
  for (int64_t m0 = 0; m0 < rows; m0 += kRows) {
    int64_t m_count = std::min(kRows, rows - m0);
    for (int64_t n0 = 0; n0 < columns; n0 += kColumns) {
      int64_t n_count = std::min(kColumns, columns - n0);
      std::fill(c.begin(), c.end(), A{});
      for (int64_t k0 = 0; k0 < depth; k0 += kDepth) {
        int64_t k_count = std::min(kDepth, depth - k0);
        for (int64_t k = 0; k < k_count; ++k)
          for (int64_t n = 0; n < n_count; ++n)
            b[static_cast<size_t>(k * block_columns + n)] = right(k0 + k, n0 + n);
        for (int64_t m = 0; m < m_count; ++m)
          for (int64_t k = 0; k < k_count; ++k)
            a[static_cast<size_t>(m * block_depth + k)] = left(m0 + m, k0 + k);
        for (int64_t m = 0; m < m_count; ++m)
          multiply_row(a.data() + m * block_depth, b.data(), block_columns, k_count, n_count,
                       c.data() + m * block_columns);
      }
      for (int64_t m = 0; m < m_count; ++m)
        for (int64_t n = 0; n < n_count; ++n)
          store(m0 + m, n0 + n, c[static_cast<size_t>(m * block_columns + n)]);
    }
  }
}

}  // namespace tuff::eval
