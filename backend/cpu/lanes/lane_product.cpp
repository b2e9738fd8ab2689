// Products of small matrices. Compiled once per processor level; sums are fused multiply-adds
// where the level has them, so here levels differ in the last bits.
#include <algorithm>

#include "backend/cpu/gemm/row_product.h"
#include "backend/cpu/lanes/lane_finish.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/lane_transpose.h"
#include "backend/cpu/lanes/lane_vector.h"
#include "backend/cpu/lanes/level.h"

namespace tuff::cpu {
namespace {

// What fills the registers of a level: rows x vectors of sums, as many vectors of B, one of A.
constexpr int kMaxVectors = kLanes == 16 ? 4 : 2;
constexpr int max_rows(int vectors) { return kLanes == 16 && vectors < 4 ? 8 : 6; }
static_assert(kProductColumns % kLanes == 0);
constexpr int kUnrolled = 8;
static_assert(kFetched % kUnrolled == 0);

// A part of the next product's B, asked for while a tile is computed.
class NextLines {
 public:
  // The part [first, last) of `parts`.
  NextLines(const RowProduct& p, int64_t first, int64_t last, int64_t parts) {
    if (p.next_b == nullptr) return;
    int64_t lines = p.k * p.b_row / kFetched, steps = (p.k + kFetched - 1) / kFetched;
    at_ = p.next_b + lines * first / parts * kFetched;
    end_ = p.next_b + lines * last / parts * kFetched;
    step_ = ((end_ - at_) / kFetched + steps - 1) / steps * kFetched;
  }
  // Once in kFetched rows of B.
  TUFF_INLINE void fetch() {
    for (const float* last = std::min(at_ + step_, end_); at_ < last; at_ += kFetched)
      __builtin_prefetch(at_, 0, 2);
  }

 private:
  const float *at_ = nullptr, *end_ = nullptr;
  int64_t step_ = 0;
};

#if defined(__AVX512F__)
// What products are made of, in the order of the text: compilers find others, with moves between
// registers and more addresses than there are registers for, that take 5 % longer.
TUFF_INLINE Vector load_row(const float* from) {
  Vector row;
  asm volatile("vmovups %1, %0" : "=v"(row) : "m"(*reinterpret_cast<const Unaligned*>(from)));
  return row;
}
template <int kStep>
TUFF_INLINE Vector element(const float* a, int64_t offset_bytes) {
  Vector lanes;
  asm volatile("vbroadcastss %c3(%1, %2), %0"
               : "=v"(lanes)
               : "r"(a), "r"(offset_bytes), "i"(kStep * 4),
                 "m"(*reinterpret_cast<const float(*)[1 << 20]>(a)));
  return lanes;
}
TUFF_INLINE Vector plus_product(Vector sum, Vector a, Vector b) {
  asm volatile("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(b), "v"(a));
  return sum;
}
TUFF_INLINE Vector plus_product(Vector sum, Vector a, const float* row) {
  asm volatile("vfmadd231ps %2, %1, %0"
               : "+v"(sum)
               : "v"(a), "m"(*reinterpret_cast<const Unaligned*>(row)));
  return sum;
}
#else
TUFF_INLINE Vector load_row(const float* from) { return load(from); }
template <int kStep>
TUFF_INLINE float element(const float* a, int64_t offset_bytes) {
  return a[offset_bytes / 4 + kStep];
}
TUFF_INLINE Vector plus_product(Vector sum, float a, Vector b) { return sum + a * b; }
TUFF_INLINE Vector plus_product(Vector sum, float a, const float* row) {
  return sum + a * load(row);
}
#endif

// One product of each sum: of a column of A, kStep after `a`, and a row of B. offsets: of A's rows,
// in bytes.
template <int kStep, int kRows, int kVectors>
TUFF_INLINE void add_products(Vector (&sums)[kRows][kVectors], const float* a,
                              const int64_t (&offsets)[kRows], const float* b) {
  Vector row[kVectors];
  unrolled<kVectors>([&](auto v)
                         __attribute__((always_inline)) { row[v] = load_row(b + v * kLanes); });
  unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
    auto factor = element<kStep>(a, offsets[r]);
    unrolled<kVectors>([&](auto v) __attribute__((always_inline)) {
      sums[r][v] = plus_product(sums[r][v], factor, row[v]);
    });
  });
}

// kUnrolled of them, a_col being 1. Compilers do not unroll this themselves; it is worth 6 %.
template <int kStep = 0, int kRows, int kVectors>
TUFF_INLINE void add_unrolled(Vector (&sums)[kRows][kVectors], const float* a,
                              const int64_t (&offsets)[kRows], const float* b, int64_t b_row) {
  add_products<kStep>(sums, a, offsets, b + kStep * b_row);
  if constexpr (kStep + 1 < kUnrolled) add_unrolled<kStep + 1>(sums, a, offsets, b, b_row);
}

// Rows i.. and columns j.. of the product. kPanels: a_col is 1 and b_row kPanelColumns.
template <int kRows, int kVectors, bool kPanels>
void multiply_tile(const RowProduct& p, int64_t i, int64_t j) {
  NextLines next(p, i, j == 0 ? i + kRows : i, p.m);
  Vector sums[kRows][kVectors] = {};
  const int64_t a_row = p.a_row, a_col = kPanels ? 1 : p.a_col;
  const int64_t b_row = kPanels ? kPanelColumns : p.b_row;  // known, it costs nothing
  const float *a = p.a + i * a_row, *b = p.b + j;
  int64_t offsets[kRows];
  unrolled<kRows>([&](auto r) __attribute__((always_inline)) { offsets[r] = r * a_row * 4; });
  if (p.fetch_c)
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kVectors; ++v)
        __builtin_prefetch(p.c + (i + r) * p.c_row + j + v * kLanes, 1);
  for (int64_t left = p.k; left > 0; left -= kFetched) {
    next.fetch();
    if (p.fetch_a)
      for (int r = 0; r < kRows; ++r) __builtin_prefetch(a + (r + kRows) * a_row);
    if (kPanels && left >= kFetched) {
      for (int l = 0; l < kFetched; l += kUnrolled, a += kUnrolled, b += kUnrolled * b_row)
        add_unrolled(sums, a, offsets, b, b_row);
    } else {
      int64_t last = std::min(left, kFetched);
      for (int64_t l = 0; l < last; ++l, a += a_col, b += b_row)
        add_products<0>(sums, a, offsets, b);
    }
  }
  bool whole = p.n - j >= kVectors * kLanes;
  unrolled<kVectors>([&](auto v) __attribute__((always_inline)) {
    if (whole)
      finish<true>(p, i, j + v * kLanes, sums, v);
    else
      finish<false>(p, i, j + v * kLanes, sums, v);
  });
}

template <int kVectors, int kRows = max_rows(kVectors)>
void multiply_tile_of(int64_t rows, const RowProduct& p, int64_t i, int64_t j) {
  if constexpr (kRows > 1)
    if (rows < kRows) return multiply_tile_of<kVectors, kRows - 1>(rows, p, i, j);
  if (p.a_col == 1 && p.b_row == kPanelColumns)
    multiply_tile<kRows, kVectors, true>(p, i, j);
  else
    multiply_tile<kRows, kVectors, false>(p, i, j);
}

// Few rows of a panel are as fast as B comes from memory, and several parts of its depth come
// faster than one, each a stream of its own to the processor. As many parts as leave registers.
constexpr int kPanelVectors = kPanelColumns / kLanes;
constexpr int kMaxFewRows = kLanes == 16 ? 4 : kLanes == 8 ? 1 : 0;
constexpr int parts_of(int rows) { return kLanes == 16 && rows <= 2 ? 4 : 2; }
constexpr int64_t kLeastSplitDepth = 64;

template <int kRows>
void multiply_few_rows(const RowProduct& p) {
  constexpr int kParts = parts_of(kRows);
  Vector sums[kParts][kRows][kPanelVectors] = {};
  const int64_t depth = p.k / kParts;
  auto add = [&](int64_t l, auto part) __attribute__((always_inline)) {
    const float* b = p.b + l * kPanelColumns;
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      const auto factor = element<0>(p.a, (r * p.a_row + l) * 4);
      unrolled<kPanelVectors>([&](auto v) __attribute__((always_inline)) {
        sums[part][r][v] = plus_product(sums[part][r][v], factor, b + v * kLanes);
      });
    });
  };
  for (int64_t l = 0; l < depth; ++l)
    unrolled<kParts>([&](auto part)
                         __attribute__((always_inline)) { add(l + part * depth, part); });
  for (int64_t l = depth * kParts; l < p.k; ++l) add(l, std::integral_constant<int, 0>());
  unrolled<kPanelVectors>([&](auto v) __attribute__((always_inline)) {
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      unrolled<kParts - 1>([&](auto part) __attribute__((always_inline)) {
        sums[0][r][v] += sums[part + 1][r][v];
      });
    });
    finish<false>(p, 0, v * kLanes, sums[0], v);
  });
}

template <int kRows = kMaxFewRows>
void multiply_few(const RowProduct& p) {
  if constexpr (kRows > 1)
    if (p.m < kRows) return multiply_few<kRows - 1>(p);
  multiply_few_rows<kRows>(p);
}

// Tiles of about as many rows each: one with few rows waits for its own sums.
template <int kVectors>
void multiply_columns(const RowProduct& p, int64_t j) {
  int64_t tiles = (p.m + max_rows(kVectors) - 1) / max_rows(kVectors);
  for (int64_t i = 0; tiles > 0; --tiles) {
    int64_t rows = (p.m - i + tiles - 1) / tiles;
    multiply_tile_of<kVectors>(rows, p, i, j);
    i += rows;
  }
}

void multiply_rows(const RowProduct& p) {
  if constexpr (kMaxFewRows > 0)
    if (p.m > 0 && p.m <= kMaxFewRows && p.a_col == 1 && p.b_row == kPanelColumns &&
        p.n <= kPanelColumns && p.k >= kLeastSplitDepth)
      return multiply_few(p);
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

// Columns side by side: row by row.
void pack_rows(int64_t rows, int64_t cols, const float* from, int64_t row, float* to,
               int64_t to_row) {
  const int64_t whole = cols / kLanes * kLanes;
  for (int64_t l = 0; l < rows; ++l, from += row, to += to_row) {
    for (int64_t j = 0; j < whole; j += kLanes) store(to + j, load(from + j));
    for (int64_t j = whole; j < to_row; ++j) to[j] = j < cols ? from[j] : 0;
  }
}

// A block of kLanes columns, each of them side by side in `from`.
void pack_transposed(int64_t rows, const float* from, int64_t col, float* to, int64_t to_row) {
  int64_t l = 0;
  for (; l + kLanes <= rows; l += kLanes) {
    Vector vectors[kLanes];
    for (int c = 0; c < kLanes; ++c) vectors[c] = load(from + l + c * col);
    transpose(vectors);
    for (int r = 0; r < kLanes; ++r) store(to + (l + r) * to_row, vectors[r]);
  }
  for (; l < rows; ++l)
    for (int c = 0; c < kLanes; ++c) to[l * to_row + c] = from[l + c * col];
}

// Neighbouring columns of `to` may lie far apart in `from`: of as few as a vector has, the cache
// lines are still there for the next row.
void pack_columns(int64_t rows, int64_t cols, const float* from, int64_t row, int64_t col,
                  float* to, int64_t to_row) {
  if (col == 1) return pack_rows(rows, cols, from, row, to, to_row);
  for (int64_t j = 0; j < to_row; j += kLanes) {
    int64_t count = std::clamp<int64_t>(cols - j, 0, kLanes);
    if (row == 1 && count == kLanes) {
      pack_transposed(rows, from + j * col, col, to + j, to_row);
      continue;
    }
    for (int64_t l = 0; l < rows; ++l) {
      const float* source = from + l * row + j * col;
      float* target = to + l * to_row + j;
      for (int64_t c = 0; c < count; ++c) target[c] = source[c * col];
      for (int64_t c = count; c < kLanes; ++c) target[c] = 0;
    }
  }
}

}  // namespace

void TUFF_LEVEL_FN(fill_product_lanes)(LaneTable& table) {
  table.multiply_rows = multiply_rows;
  table.pack_columns = pack_columns;
}

}  // namespace tuff::cpu
