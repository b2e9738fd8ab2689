// A product of small matrices on one thread: what attention and 1x1 convolutions
// are made of.
#pragma once

#include <cstdint>
#include <limits>

namespace tuff::cpu {

// Columns of B are computed by whole vectors: rows of B must be readable up to a multiple of
// this many columns.
inline constexpr int64_t kProductColumns = 16;

// Columns of a panel of weights: products with a_col 1 and b_row of this many are the fastest.
inline constexpr int64_t kPanelColumns = 48;

// c[i, j] = min(max((sum over l of a[i, l] * b[l, j] + addend[i, j]) * scale * row_scales[i]
//                   + column_shifts[j], least), most)
// in f32; NaN stays. The sums are in the order of l, those of a few rows of a panel in parts of it.
// Strides in elements. Rows of column_shifts and the addend need not be readable beyond n.
struct RowProduct {
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  int64_t a_row = 0, a_col = 0;
  const float* b = nullptr;
  int64_t b_row = 0;  // columns side by side
  float* c = nullptr;
  int64_t c_row = 0;              // columns side by side
  const float* addend = nullptr;  // null: 0; may be c
  int64_t addend_row = 0;         // columns side by side
  float scale = 1;
  const float* row_scales = nullptr;     // null: 1
  const float* column_shifts = nullptr;  // null: 0
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();
  // Whether these come from memory rather than a cache: then they are asked for ahead of use, a's
  // later rows (a_col is 1) and c's elements.
  bool fetch_a = false, fetch_c = false;
  // The B of the product after this one where that comes from memory, k rows of b_row: it is asked
  // for meanwhile.
  const float* next_b = nullptr;
};

}  // namespace tuff::cpu
