// Lines side by side, as the columns of a block whose rows are cache lines. After level.h.
#pragma once

#include <algorithm>
#include <type_traits>

#include "backend/cpu/lanes/block_columns.h"
#include "backend/cpu/lanes/lane_transpose.h"

namespace tuff::cpu {
namespace {

// Row r of lines' elements: of one block, or in turns of two.
template <typename T>
TUFF_INLINE T* line_row(int64_t r, T* block, T* odd) {
  if (odd == nullptr) return block + r * kBlockColumns<T>;
  return (r % 2 == 0 ? block : odd) + r / 2 * kBlockColumns<T>;
}

// block[r][c] = from[c * stride + r] for r < rows; 0 where c is no line. With `odd`, rows go to the
// two in turns.
template <typename T>
void load_lines(int64_t rows, int64_t columns, const T* from, int64_t stride, T* block, T* odd) {
  int64_t done = 0;
  if constexpr (std::is_same_v<T, float>)
    for (; columns == kBlockColumns<T> && done + kLanes <= rows; done += kLanes)
      for (int64_t c = 0; c < columns; c += kLanes) {
        Vector tile[kLanes];
        for (int i = 0; i < kLanes; ++i) tile[i] = cpu::load(from + (c + i) * stride + done);
        transpose(tile);
        for (int i = 0; i < kLanes; ++i) cpu::store(line_row(done + i, block, odd) + c, tile[i]);
      }
  for (int64_t r = done; r < rows; ++r) {
    T* to = line_row(r, block, odd);
    for (int64_t c = 0; c < kBlockColumns<T>; ++c) to[c] = c < columns ? from[c * stride + r] : 0;
  }
}

// The reverse, times `scale`.
template <typename T>
void store_lines(int64_t rows, int64_t columns, T scale, const T* block, const T* odd, T* to,
                 int64_t stride) {
  int64_t done = 0;
  if constexpr (std::is_same_v<T, float>)
    for (; columns == kBlockColumns<T> && done + kLanes <= rows; done += kLanes)
      for (int64_t c = 0; c < columns; c += kLanes) {
        Vector tile[kLanes];
        for (int i = 0; i < kLanes; ++i)
          tile[i] = cpu::load(line_row(done + i, block, odd) + c) * scale;
        transpose(tile);
        for (int i = 0; i < kLanes; ++i) cpu::store(to + (c + i) * stride + done, tile[i]);
      }
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = done; r < rows; ++r) to[c * stride + r] = line_row(r, block, odd)[c] * scale;
}

}  // namespace
}  // namespace tuff::cpu
