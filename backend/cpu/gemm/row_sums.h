// Few vectors times a matrix whose rows lie side by side: sums of its rows, each times a factor.
#pragma once

#include <cstdint>

namespace tuff::cpu {

// sums[i, j] = sum over l < depth of a[i, l] * b[l, j] in f32, in the order of l. Strides in
// elements; the elements of a row are side by side, those of B of the type that the function is
// for.
struct RowSums {
  int64_t rows = 0;  // at most LaneTable::most_row_sums
  int64_t columns = 0, depth = 0;
  const float* a = nullptr;
  int64_t a_row = 0;
  const void* b = nullptr;
  int64_t b_row = 0;
  float* sums = nullptr;
  int64_t sums_row = 0;
};

}  // namespace tuff::cpu
