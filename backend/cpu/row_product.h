// A product of small matrices on one thread: what attention is made of.
#pragma once

#include <cstdint>

namespace tuff::cpu {

// Columns of B are computed by whole vectors: rows of B must be readable up to a multiple of
// this many columns.
inline constexpr int64_t kProductColumns = 16;

// c[i, j] = (sum over l of a[i, l] * b[l, j], and c[i, j] before, if `add`) * scale
//           * row_scales[i]
// in f32, the sums in the order of l. Strides in elements.
struct RowProduct {
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  int64_t a_row = 0, a_col = 0;
  const float* b = nullptr;
  int64_t b_row = 0;  // columns side by side
  float* c = nullptr;
  int64_t c_row = 0;  // columns side by side
  bool add = false;
  float scale = 1;
  const float* row_scales = nullptr;  // null: 1
};

}  // namespace tuff::cpu
