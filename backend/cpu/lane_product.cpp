// Products of small matrices. Compiled once per processor level; sums are fused multiply-adds
// where the level has them, so here levels differ in the last bits.
#include <algorithm>
#include <cstring>

#include "backend/cpu/lane_table.h"
#include "backend/cpu/level.h"
#include "backend/cpu/row_product.h"

namespace tuff::cpu {
namespace {

// What fills the registers of a level: kRows x kVectors sums, kVectors of B, one of A.
#if defined(__AVX512F__)
constexpr int kLanes = 16, kMaxVectors = 4;
#elif defined(__AVX2__)
constexpr int kLanes = 8, kMaxVectors = 2;
#else
constexpr int kLanes = 4, kMaxVectors = 2;
#endif
constexpr int kMaxRows = 6;
constexpr int64_t kFetched = 16;  // floats of a cache line
static_assert(kProductColumns % kLanes == 0);

using Vector = float __attribute__((vector_size(4 * kLanes)));
// The same anywhere in memory.
using Unaligned = float __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

Vector load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }

// The first `count` lanes; kWhole: all of them.
template <bool kWhole>
TUFF_INLINE Vector load_first(const float* from, int64_t count) {
  if (kWhole || count >= kLanes) return load(from);
  Vector value{};
  std::memcpy(&value, from, static_cast<size_t>(count) * sizeof(float));
  return value;
}
template <bool kWhole>
TUFF_INLINE void store_first(float* to, Vector value, int64_t count) {
  if (kWhole || count >= kLanes)
    *reinterpret_cast<Unaligned*>(to) = value;
  else
    std::memcpy(to, &value, static_cast<size_t>(count) * sizeof(float));
}

// What happens to the sums of rows i.. from column j on, `count` of them.
template <bool kWhole, int kRows>
TUFF_INLINE void finish(const RowProduct& p, int64_t i, int64_t j, Vector* sums, int64_t stride) {
  int64_t count = p.n - j;
  if (!kWhole && count <= 0) return;
  Vector shift{}, least = Vector{} + p.least;
  const float* addend = p.addend == nullptr ? nullptr : p.addend + i * p.addend_row + j;
  if (p.column_shifts != nullptr) shift = load_first<kWhole>(p.column_shifts + j, count);
  float* c = p.c + i * p.c_row + j;
  for (int r = 0; r < kRows; ++r) {
    Vector sum = sums[r * stride];
    if (addend != nullptr) sum += load_first<kWhole>(addend + r * p.addend_row, count);
    sum = sum * (p.row_scales == nullptr ? p.scale : p.scale * p.row_scales[i + r]) + shift;
    store_first<kWhole>(c + r * p.c_row, sum < least ? least : sum, count);
  }
}

// Rows i.. and columns j.. of the product.
template <int kRows, int kVectors>
void multiply_tile(const RowProduct& p, int64_t i, int64_t j) {
  Vector sums[kRows][kVectors] = {};
  const float* a[kRows];
  for (int r = 0; r < kRows; ++r) a[r] = p.a + (i + r) * p.a_row;
  const float* b = p.b + j;
  if (p.fetch_c)
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kVectors; ++v)
        __builtin_prefetch(p.c + (i + r) * p.c_row + j + v * kLanes, 1);
  for (int64_t l = 0, at = 0; l < p.k;) {
    int64_t last = std::min(p.k, l + kFetched);
    if (p.fetch_a)
      for (int r = 0; r < kRows; ++r) __builtin_prefetch(a[r] + at + kRows * p.a_row);
    for (; l < last; ++l, at += p.a_col, b += p.b_row) {
      Vector row[kVectors];
      for (int v = 0; v < kVectors; ++v) row[v] = load(b + v * kLanes);
      for (int r = 0; r < kRows; ++r)
        for (int v = 0; v < kVectors; ++v) sums[r][v] += a[r][at] * row[v];
    }
  }
  bool whole = p.n - j >= kVectors * kLanes;
  for (int v = 0; v < kVectors; ++v) {
    if (whole)
      finish<true, kRows>(p, i, j + v * kLanes, &sums[0][v], kVectors);
    else
      finish<false, kRows>(p, i, j + v * kLanes, &sums[0][v], kVectors);
  }
}

template <int kVectors>
void multiply_columns(const RowProduct& p, int64_t j) {
  int64_t i = 0;
  for (; i + kMaxRows <= p.m; i += kMaxRows) multiply_tile<kMaxRows, kVectors>(p, i, j);
  switch (p.m - i) {
    case 5: return multiply_tile<5, kVectors>(p, i, j);
    case 4: return multiply_tile<4, kVectors>(p, i, j);
    case 3: return multiply_tile<3, kVectors>(p, i, j);
    case 2: return multiply_tile<2, kVectors>(p, i, j);
    case 1: return multiply_tile<1, kVectors>(p, i, j);
    default: return;
  }
}

void multiply_rows(const RowProduct& p) {
  for (int64_t j = 0; j < p.n;) {
    int64_t vectors = std::min<int64_t>((p.n - j + kLanes - 1) / kLanes, kMaxVectors);
    switch (vectors) {
      case 4: multiply_columns<std::min(4, kMaxVectors)>(p, j); break;
      case 3: multiply_columns<std::min(3, kMaxVectors)>(p, j); break;
      case 2: multiply_columns<2>(p, j); break;
      default: multiply_columns<1>(p, j); break;
    }
    j += vectors * kLanes;
  }
}

// Neighbouring columns of `to` may lie far apart in `from`: a block of kProductColumns is
// written at a time, so that their cache lines are used as a whole.
void pack_columns(int64_t rows, int64_t cols, const float* from, int64_t row, int64_t col,
                  float* to, int64_t to_row) {
  for (int64_t j = 0; j < to_row; j += kProductColumns) {
    int64_t count = std::clamp<int64_t>(cols - j, 0, kProductColumns);
    for (int64_t l = 0; l < rows; ++l) {
      const float* source = from + l * row + j * col;
      float* target = to + l * to_row + j;
      for (int64_t c = 0; c < count; ++c) target[c] = source[c * col];
      for (int64_t c = count; c < kProductColumns; ++c) target[c] = 0;
    }
  }
}

}  // namespace

void TUFF_LEVEL_FN(fill_product_lanes)(LaneTable& table) {
  table.multiply_rows = multiply_rows;
  table.pack_columns = pack_columns;
}

}  // namespace tuff::cpu
