// Rows times few columns. Compiled once per processor level; sums are fused multiply-adds where the
// level has them, so here levels differ in the last bits.
#include <type_traits>

#include "backend/cpu/gemm/dot_rows.h"
#include "backend/cpu/lanes/lane_finish.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/lane_vector.h"
#include "backend/cpu/lanes/level.h"

namespace tuff::cpu {
namespace {

// Rows are as fast as they come from memory: several of them, far from each other, are as many
// streams to the processor, and come faster than one.
constexpr int kStreams = 4;
constexpr int kColumnsAtOnce = 2;

TUFF_INLINE float total(Vector lanes) {
  float parts[kLanes];
  store(parts, lanes);
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) parts[i] += parts[i + width];
  return parts[0];
}

TUFF_INLINE void finish_sum(const DotRows& p, int64_t row, int64_t column, float sum) {
  const int64_t at = row * p.c_row + column * p.c_column;
  const int64_t step = row * p.step_row + column * p.step_column;
  if (p.factors != nullptr) sum *= p.factors[step];
  if (p.addend != nullptr) sum += p.addend[at];
  if (p.shifts != nullptr) sum += p.shifts[step];
  sum = sum < p.least ? p.least : sum;
  p.c[at] = sum > p.most ? p.most : sum;
}

// kRows rows, `apart` from each other, from the first on.
template <int kRows, int kColumns>
void dot_tile(const DotRows& p, int64_t first, int64_t apart, int64_t column) {
  Vector sums[kRows][kColumns] = {};
  const float *a = p.a + first * p.a_row, *b = p.b + column * p.b_column;
  const int64_t row = apart * p.a_row;
  auto add = [&](int64_t l, auto whole) __attribute__((always_inline)) {
    constexpr bool kWhole = decltype(whole)::value;
    Vector factors[kColumns];
    unrolled<kColumns>([&](auto c) __attribute__((always_inline)) {
      factors[c] = load_first<kWhole>(b + c * p.b_column + l, p.depth - l);
    });
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      const Vector lanes = load_first<kWhole>(a + r * row + l, p.depth - l);
      unrolled<kColumns>([&](auto c)
                             __attribute__((always_inline)) { sums[r][c] += lanes * factors[c]; });
    });
  };
  int64_t l = 0;
  for (; l + kLanes <= p.depth; l += kLanes) add(l, std::true_type());
  if (l < p.depth) add(l, std::false_type());
  unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
    unrolled<kColumns>([&](auto c) __attribute__((always_inline)) {
      finish_sum(p, first + r * apart, column + c, total(sums[r][c]));
    });
  });
}

template <int kColumns>
void dot_columns(const DotRows& p, int64_t column) {
  const int64_t apart = p.rows / kStreams;
  for (int64_t i = 0; i < apart; ++i) dot_tile<kStreams, kColumns>(p, i, apart, column);
  for (int64_t i = apart * kStreams; i < p.rows; ++i) dot_tile<1, kColumns>(p, i, 0, column);
}

void dot_rows(const DotRows& p) {
  int64_t column = 0;
  for (; column + kColumnsAtOnce <= p.columns; column += kColumnsAtOnce)
    dot_columns<kColumnsAtOnce>(p, column);
  if (column < p.columns) dot_columns<1>(p, column);
}

}  // namespace

void TUFF_LEVEL_FN(fill_dot_lanes)(LaneTable& table) { table.dot_rows = dot_rows; }

}  // namespace tuff::cpu
