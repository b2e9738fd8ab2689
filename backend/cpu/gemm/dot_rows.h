// Rows times few columns, each of which lies side by side: dot products.
#pragma once

#include <cstdint>
#include <limits>

namespace tuff::cpu {

// c[i, j] = min(max(factor[i, j] * sum over l of a[i, l] * b[l, j] + addend[i, j] + shift[i, j],
//                   least), most)
// in f32; NaN stays. Strides in elements; the elements of a row of A and of a column of B are side
// by side, those of A of the type that the function is for.
struct DotRows {
  int64_t rows = 0, columns = 0, depth = 0;
  const void* a = nullptr;
  int64_t a_row = 0;
  const float* b = nullptr;
  int64_t b_column = 0;
  float* c = nullptr;
  const float* addend = nullptr;                      // null: 0; may be c
  int64_t c_row = 0, c_column = 0;                    // of the addend, too
  const float *factors = nullptr, *shifts = nullptr;  // null: 1, 0
  int64_t step_row = 0, step_column = 0;              // of these two
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();
};

}  // namespace tuff::cpu
