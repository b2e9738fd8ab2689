// Windows of rows that are folded in registers. Compiled once per processor level.
#include <algorithm>

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/lane_vector.h"
#include "backend/cpu/lanes/level.h"

namespace tuff::cpu {
namespace {

using Bits = int32_t __attribute__((vector_size(4 * kLanes)));

struct Add {
  TUFF_INLINE Vector operator()(Vector a, Vector b) const { return a + b; }
};
struct Multiply {
  TUFF_INLINE Vector operator()(Vector a, Vector b) const { return a * b; }
};
// NaN where one is; of equal ones, which may be zeros of two signs, the bits of both or of either.
struct Maximum {
  TUFF_INLINE Vector operator()(Vector a, Vector b) const {
    const auto same =
        reinterpret_cast<Vector>(reinterpret_cast<Bits>(a) & reinterpret_cast<Bits>(b));
    return a > b ? a : a < b ? b : a == b ? same : a + b;
  }
};
struct Minimum {
  TUFF_INLINE Vector operator()(Vector a, Vector b) const {
    const auto same =
        reinterpret_cast<Vector>(reinterpret_cast<Bits>(a) | reinterpret_cast<Bits>(b));
    return a < b ? a : a > b ? b : a == b ? same : a + b;
  }
};

template <bool kWhole, typename Combine>
TUFF_INLINE void fold_columns(const WindowRows& rows, int64_t result, int64_t column, int64_t count,
                              const Combine& combine) {
  const int64_t place = result * rows.columns + column;
  const float* from = rows.from + result * rows.advance + column;
  Vector sum =
      rows.sum != nullptr ? load_first<kWhole>(rows.sum + place, count) : Vector{} + rows.initial;
  for (int64_t t = 0; t < rows.taps; ++t)
    sum = combine(sum, load_first<kWhole>(from + rows.offsets[t], count));
  store_first<kWhole>(rows.to + place, sum, count);
}

template <typename Combine>
void fold_window(const WindowRows& rows) {
  const Combine combine;
  for (int64_t result = 0; result < rows.results; ++result) {
    int64_t column = 0;
    for (; column + kLanes <= rows.columns; column += kLanes)
      fold_columns<true>(rows, result, column, kLanes, combine);
    if (column < rows.columns)
      fold_columns<false>(rows, result, column, rows.columns - column, combine);
  }
}

}  // namespace

void TUFF_LEVEL_FN(fill_window_lanes)(LaneTable& table) {
  table.fold_window[static_cast<size_t>(WindowFold::kAdd)] = fold_window<Add>;
  table.fold_window[static_cast<size_t>(WindowFold::kMultiply)] = fold_window<Multiply>;
  table.fold_window[static_cast<size_t>(WindowFold::kMaximum)] = fold_window<Maximum>;
  table.fold_window[static_cast<size_t>(WindowFold::kMinimum)] = fold_window<Minimum>;
}

}  // namespace tuff::cpu
