// A matrix times few vectors, read once as it lies. Compiled once per processor level; sums are
// fused multiply-adds where the level has them, so here levels differ in the last bits.
#include <bit>
#include <type_traits>

#include "backend/cpu/gemm/dot_rows.h"
#include "backend/cpu/gemm/row_sums.h"
#include "backend/cpu/lanes/lane_finish.h"
#include "backend/cpu/lanes/lane_halves.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/lane_transpose.h"
#include "backend/cpu/lanes/lane_vector.h"
#include "backend/cpu/lanes/level.h"

namespace tuff::cpu {
namespace {

// Elements of a matrix as floats.
struct Floats {
  using Element = float;
  TUFF_INLINE static Vector whole(const float* from) { return load(from); }
};
struct BFloats {
  using Element = uint16_t;
  using Halves = uint16_t __attribute__((vector_size(2 * kLanes), aligned(2), may_alias));
  using Words = uint32_t __attribute__((vector_size(4 * kLanes)));
  TUFF_INLINE static Vector whole(const uint16_t* from) {
    const Words words = __builtin_convertvector(*reinterpret_cast<const Halves*>(from), Words)
                        << 16;
    return std::bit_cast<Vector>(words);
  }
};
#ifdef __F16C__
struct Halfs {
  using Element = uint16_t;
  TUFF_INLINE static Vector whole(const uint16_t* from) { return widened(from); }
};
#endif

template <typename Of, bool kWhole = true>
TUFF_INLINE Vector elements(const typename Of::Element* from, int64_t count = kLanes) {
  if (kWhole || count >= kLanes) return Of::whole(from);
  typename Of::Element some[kLanes] = {};
  std::memcpy(some, from, static_cast<size_t>(count) * sizeof some[0]);
  return Of::whole(some);
}

// Rows are as fast as they come from memory: several of them, far from each other, are as many
// streams to the processor, and come faster than one.
constexpr int kStreams = 4;
constexpr int kColumnsAtOnce = 2;

using Quad = float __attribute__((vector_size(16)));

// The sum of a vector's parts of four lanes.
TUFF_INLINE Quad sum_of_quads(Vector lanes) {
  Quad parts[kLanes / 4];
  std::memcpy(parts, &lanes, sizeof parts);
  for (int width = kLanes / 8; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) parts[i] += parts[i + width];
  return parts[0];
}

// The sum of the lanes of each vector. Four are transposed, so that one sum is that of all.
template <int kCount>
TUFF_INLINE void add_lanes(Vector (&vectors)[kCount], float (&totals)[kCount]) {
  if constexpr (kCount == 4) {
    transpose(vectors);
    const Quad sums = sum_of_quads((vectors[0] + vectors[1]) + (vectors[2] + vectors[3]));
    std::memcpy(totals, &sums, sizeof totals);
  } else {
    for (int i = 0; i < kCount; ++i) {
      const Quad sums = sum_of_quads(vectors[i]);
      totals[i] = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    }
  }
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
template <typename A, int kRows, int kColumns>
void dot_tile(const DotRows& p, int64_t first, int64_t apart, int64_t column) {
  Vector sums[kColumns][kRows] = {};
  const auto* a = static_cast<const typename A::Element*>(p.a) + first * p.a_row;
  const float* b = p.b + column * p.b_column;
  const int64_t row = apart * p.a_row;
  auto add = [&](int64_t l, auto whole) __attribute__((always_inline)) {
    constexpr bool kWhole = decltype(whole)::value;
    Vector factors[kColumns];
    unrolled<kColumns>([&](auto c) __attribute__((always_inline)) {
      factors[c] = load_first<kWhole>(b + c * p.b_column + l, p.depth - l);
    });
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      const Vector lanes = elements<A, kWhole>(a + r * row + l, p.depth - l);
      unrolled<kColumns>([&](auto c)
                             __attribute__((always_inline)) { sums[c][r] += lanes * factors[c]; });
    });
  };
  int64_t l = 0;
  for (; l + kLanes <= p.depth; l += kLanes) add(l, std::true_type());
  if (l < p.depth) add(l, std::false_type());
  unrolled<kColumns>([&](auto c) __attribute__((always_inline)) {
    float totals[kRows];
    add_lanes(sums[c], totals);
    for (int r = 0; r < kRows; ++r) finish_sum(p, first + r * apart, column + c, totals[r]);
  });
}

template <typename A, int kColumns>
void dot_columns(const DotRows& p, int64_t column) {
  const int64_t apart = p.rows / kStreams;
  for (int64_t i = 0; i < apart; ++i) dot_tile<A, kStreams, kColumns>(p, i, apart, column);
  for (int64_t i = apart * kStreams; i < p.rows; ++i) dot_tile<A, 1, kColumns>(p, i, 0, column);
}

template <typename A>
void dot_rows(const DotRows& p) {
  int64_t column = 0;
  for (; column + kColumnsAtOnce <= p.columns; column += kColumnsAtOnce)
    dot_columns<A, kColumnsAtOnce>(p, column);
  if (column < p.columns) dot_columns<A, 1>(p, column);
}

// The sums of kTerms rows of B are added to what is there, or begin.
template <typename B, int kRows, int kTerms>
TUFF_INLINE void add_terms(const RowSums& p, int64_t l) {
  const auto* b = static_cast<const typename B::Element*>(p.b) + l * p.b_row;
  Vector factors[kRows][kTerms];
  unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
    unrolled<kTerms>([&](auto t) __attribute__((always_inline)) {
      factors[r][t] = Vector{} + p.a[r * p.a_row + l + t];
    });
  });
  auto add = [&](int64_t j, auto whole) __attribute__((always_inline)) {
    constexpr bool kWhole = decltype(whole)::value;
    const int64_t count = p.columns - j;
    Vector sums[kRows] = {};
    if (l > 0)
      unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
        sums[r] = load_first<kWhole>(p.sums + r * p.sums_row + j, count);
      });
    unrolled<kTerms>([&](auto t) __attribute__((always_inline)) {
      const Vector row = elements<B, kWhole>(b + t * p.b_row + j, count);
      unrolled<kRows>([&](auto r)
                          __attribute__((always_inline)) { sums[r] += factors[r][t] * row; });
    });
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      store_first<kWhole>(p.sums + r * p.sums_row + j, sums[r], count);
    });
  };
  int64_t j = 0;
  for (; j + kLanes <= p.columns; j += kLanes) add(j, std::true_type());
  if (j < p.columns) add(j, std::false_type());
}

// As many rows of A as leave registers for the factors of several rows of B, each of which is a
// stream to the processor.
constexpr int kMostRowSums = kLanes == 16 ? 4 : 2;
constexpr int terms_of(int rows) { return rows == 1 ? 8 : 4; }

template <typename B, int kRows = kMostRowSums>
void row_sums(const RowSums& p) {
  if constexpr (kRows > 1)
    if (p.rows < kRows) return row_sums<B, kRows - 1>(p);
  constexpr int kTerms = terms_of(kRows);
  int64_t l = 0;
  for (; l + kTerms <= p.depth; l += kTerms) add_terms<B, kRows, kTerms>(p, l);
  for (; l < p.depth; ++l) add_terms<B, kRows, 1>(p, l);
}

template <typename Elements>
void fill_type(LaneTable& table, DType type) {
  table.dot_rows[static_cast<size_t>(type)] = dot_rows<Elements>;
  table.row_sums[static_cast<size_t>(type)] = row_sums<Elements>;
}

}  // namespace

void TUFF_LEVEL_FN(fill_dot_lanes)(LaneTable& table) {
  table.most_row_sums = kMostRowSums;
  fill_type<Floats>(table, DType::kF32);
  fill_type<BFloats>(table, DType::kBF16);
#ifdef __F16C__
  fill_type<Halfs>(table, DType::kF16);
#endif
}

}  // namespace tuff::cpu
