// Blocked matrix product under dot_general and convolution. The operands are given
// as offset functions, so that any dimension numbers, padding and dilation become
// index arithmetic while packing; the inner loop is over packed doubles or integers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ir/literal.h"

namespace tuff::eval {

// Products accumulate in A: double for floats (products of f32 are exact, the sum
// rounds once at the end), uint64 for integers (exact modulo every result width)
// and for booleans (a sum of ands is their or).

// out[i] = data[offsets[i]], or 0 where the offset is negative.
template <typename A>
using PackFunction = void (*)(const std::byte* data, const int64_t* offsets, int64_t n, A* out);
// data[offsets[i]] = sums[i], rounded once.
template <typename A>
using StoreFunction = void (*)(const A* sums, const int64_t* offsets, int64_t n, std::byte* data);

// Null where the element type is not of A's class.
template <typename A>
PackFunction<A> pack_function(DType dtype);
template <typename A>
StoreFunction<A> store_function(DType dtype);

// c[j] += sum over k < depth of a[k] * b[k * row_length + j], for j < n.
template <typename A>
void multiply_row(const A* a, const A* b, int64_t row_length, int64_t depth, int64_t n, A* c);

// One product: element (m, k) of the left matrix is left[left_offset(m, k)], and so on.
template <typename A>
struct Product {
  int64_t rows, columns, depth;
  const std::byte *left, *right;
  std::byte* result;
  PackFunction<A> pack;
  StoreFunction<A> store;

  template <typename LeftOffset, typename RightOffset, typename ResultOffset>
  void run(LeftOffset left_offset, RightOffset right_offset, ResultOffset result_offset) const;
};

template <typename A>
template <typename LeftOffset, typename RightOffset, typename ResultOffset>
void Product<A>::run(LeftOffset left_offset, RightOffset right_offset,
                     ResultOffset result_offset) const {
  constexpr int64_t kRows = 128, kColumns = 256, kDepth = 128;
  int64_t offsets[kColumns];
  int64_t block_depth = std::min(depth, kDepth), block_columns = std::min(columns, kColumns);
  std::vector<A> a(static_cast<size_t>(std::min(rows, kRows) * block_depth));
  std::vector<A> b(static_cast<size_t>(block_depth * block_columns));
  std::vector<A> c(static_cast<size_t>(std::min(rows, kRows) * block_columns));
  for (int64_t m0 = 0; m0 < rows; m0 += kRows) {
    int64_t m_count = std::min(kRows, rows - m0);
    for (int64_t n0 = 0; n0 < columns; n0 += kColumns) {
      int64_t n_count = std::min(kColumns, columns - n0);
      std::fill(c.begin(), c.end(), A{});
      for (int64_t k0 = 0; k0 < depth; k0 += kDepth) {
        int64_t k_count = std::min(kDepth, depth - k0);
        for (int64_t k = 0; k < k_count; ++k) {
          for (int64_t n = 0; n < n_count; ++n) offsets[n] = right_offset(k0 + k, n0 + n);
          pack(right, offsets, n_count, b.data() + k * block_columns);
        }
        for (int64_t m = 0; m < m_count; ++m) {
          A* row = a.data() + m * block_depth;
          for (int64_t k = 0; k < k_count; ++k) offsets[k] = left_offset(m0 + m, k0 + k);
          pack(left, offsets, k_count, row);
          multiply_row(row, b.data(), block_columns, k_count, n_count,
                       c.data() + m * block_columns);
        }
      }
      for (int64_t m = 0; m < m_count; ++m) {
        for (int64_t n = 0; n < n_count; ++n) offsets[n] = result_offset(m0 + m, n0 + n);
        store(c.data() + m * block_columns, offsets, n_count, result);
      }
    }
  }
}

}  // namespace tuff::eval
