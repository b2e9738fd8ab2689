// Moving elements between lane arrays and memory. Compiled once per processor level.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/lane_transpose.h"
#include "backend/cpu/lanes/level.h"

namespace tuff::cpu {
namespace {

template <typename E>
struct Moves {
  static void fill(int64_t n, void* dst, const void* value) {
    auto* to = static_cast<E*>(dst);
    E x = *static_cast<const E*>(value);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = x;
  }

  // Where the stride is known, the compiler picks elements out of vectors.
  template <int64_t stride>
  static void load_every(int64_t n, E* to, const E* from) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
  }
  template <int64_t stride>
  static void store_every(int64_t n, E* to, const E* from) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i * stride] = from[i];
  }

  static void store_strided(int64_t n, void* dst, const void* src, int64_t stride) {
    auto* to = static_cast<E*>(dst);
    auto* from = static_cast<const E*>(src);
    if (stride == 2) return store_every<2>(n, to, from);
    for (int64_t i = 0; i < n; ++i) to[i * stride] = from[i];
  }

  // Where what is stored next lies a little above what is loaded next in their pages, processors
  // take the loads for ones of what was just stored: such rows are copied from their ends.
  static bool is_close_behind(const std::byte* to, const std::byte* from) {
    const auto apart = reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from);
    return apart % 4096 - 1 < 512;
  }

  static constexpr int64_t kLongRow = 1 << 14;  // the C library has its ways with large memory

  // As vectors of kBytes, the last one over the one before it where the row is no multiple.
  template <int64_t kBytes>
  static TUFF_INLINE void copy_row(int64_t bytes, std::byte* to, const std::byte* from) {
    const bool close = bytes > 4 * kBytes && is_close_behind(to, from);
    if (bytes >= kLongRow && !close) {
      std::memcpy(to, from, static_cast<size_t>(bytes));
      return;
    }
    if (close) {
      int64_t at = bytes - kBytes;
      for (; at > 0; at -= kBytes) std::memcpy(to + at, from + at, kBytes);
      std::memcpy(to, from, kBytes);
      return;
    }
    for (int64_t at = 0; at + kBytes < bytes; at += kBytes) std::memcpy(to + at, from + at, kBytes);
    std::memcpy(to + bytes - kBytes, from + bytes - kBytes, kBytes);
  }
  template <int64_t kBytes>
  static void copy_rows_by(int64_t rows, int64_t bytes, std::byte* to, int64_t to_step,
                           const std::byte* from, int64_t from_step) {
    for (int64_t r = 0; r < rows; ++r, to += to_step, from += from_step)
      copy_row<kBytes>(bytes, to, from);
  }

  template <int64_t kStep>
  static void pick_rows(int64_t rows, int64_t n, E* to, int64_t to_stride, const E* from,
                        int64_t from_stride) {
    for (int64_t r = 0; r < rows; ++r, to += to_stride, from += from_stride)
      load_every<kStep>(n, to, from);
  }

  static void copy_rows(int64_t rows, int64_t n, void* dst, int64_t to_stride, const void* src,
                        int64_t from_stride, int64_t step) {
    auto* to = static_cast<std::byte*>(dst);
    auto* from = static_cast<const std::byte*>(src);
    constexpr int64_t kSize = sizeof(E);
    const int64_t bytes = n * kSize, to_step = to_stride * kSize, from_step = from_stride * kSize;
    if (step == 1) {
      if (bytes >= 64) return copy_rows_by<64>(rows, bytes, to, to_step, from, from_step);
      if (bytes >= 32) return copy_rows_by<32>(rows, bytes, to, to_step, from, from_step);
      if (bytes >= 16) return copy_rows_by<16>(rows, bytes, to, to_step, from, from_step);
      if (bytes >= 8) return copy_rows_by<8>(rows, bytes, to, to_step, from, from_step);
    }
    auto* elements = static_cast<E*>(dst);
    auto* source = static_cast<const E*>(src);
    switch (step) {
      case -1: return pick_rows<-1>(rows, n, elements, to_stride, source, from_stride);
      case 1: return pick_rows<1>(rows, n, elements, to_stride, source, from_stride);
      case 2: return pick_rows<2>(rows, n, elements, to_stride, source, from_stride);
      case 3: return pick_rows<3>(rows, n, elements, to_stride, source, from_stride);
      case 4: return pick_rows<4>(rows, n, elements, to_stride, source, from_stride);
      default: break;
    }
    for (int64_t r = 0; r < rows; ++r, elements += to_stride, source += from_stride)
      for (int64_t i = 0; i < n; ++i) elements[i] = source[i * step];
  }

  static void load_strided(int64_t n, void* dst, const void* src, int64_t stride) {
    copy_rows(1, n, dst, 0, src, 0, stride);
  }

  static void interleave(int64_t n, void* dst, const void* first, const void* second) {
    auto* __restrict to = static_cast<E*>(dst);
    const auto *a = static_cast<const E*>(first), *b = static_cast<const E*>(second);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[2 * i] = a[i], to[2 * i + 1] = b[i];
  }

  // Tiles are put together to cache lines' squares, whose lines are read and written whole.
  static constexpr int64_t kTile = sizeof(E) == 8 ? kLanes / 2 : sizeof(E) == 4 ? kLanes : 16;
  static constexpr int64_t kLine = 64 / sizeof(E);
  typedef E TileRow __attribute__((vector_size(kTile * sizeof(E))));

  static TUFF_INLINE void transpose_tile(const E* from, int64_t from_stride, E* to,
                                         int64_t to_stride) {
    TileRow tile[kTile];
    for (int64_t i = 0; i < kTile; ++i) std::memcpy(&tile[i], from + i * from_stride, sizeof *tile);
    cpu::transpose(tile);
    for (int64_t i = 0; i < kTile; ++i) std::memcpy(to + i * to_stride, &tile[i], sizeof *tile);
  }

  // Two tiles below each other, of which each row written is a cache line.
  static constexpr bool kHasTall = kLanes == 16 && 2 * kTile * sizeof(E) == 64;
  static TUFF_INLINE void transpose_tall(const E* from, int64_t from_stride, E* to,
                                         int64_t to_stride) {
    typedef E TallRow __attribute__((vector_size(2 * kTile * sizeof(E))));
    TallRow tile[kTile];
    for (int64_t i = 0; i < kTile; ++i) {
      TileRow upper, lower;
      std::memcpy(&upper, from + i * from_stride, sizeof upper);
      std::memcpy(&lower, from + (i + kTile) * from_stride, sizeof lower);
      tile[i] = joined<TallRow>(upper, lower, std::make_integer_sequence<int, 2 * kTile>());
    }
    cpu::transpose(tile);
    for (int64_t i = 0; i < kTile; ++i) std::memcpy(to + i * to_stride, &tile[i], sizeof *tile);
  }

  // Squares follow each other along the lines that are written: writing lines here and there takes
  // twice as long as reading them so.
  static void transpose(int64_t rows, int64_t columns, const void* src, int64_t from_stride,
                        void* dst, int64_t to_stride) {
    auto* to = static_cast<E*>(dst);
    auto* from = static_cast<const E*>(src);
    const int64_t whole_rows = rows / kTile * kTile, whole_columns = columns / kTile * kTile;
    auto turn = [&](int64_t r0, int64_t c0) {
      const int64_t last_row = std::min(r0 + kLine, whole_rows);
      for (int64_t c = c0; c < std::min(c0 + kLine, whole_columns); c += kTile) {
        int64_t r = r0;
        if constexpr (kHasTall)
          for (; r + 2 * kTile <= last_row; r += 2 * kTile)
            transpose_tall(from + r * from_stride + c, from_stride, to + c * to_stride + r,
                           to_stride);
        for (; r < last_row; r += kTile)
          transpose_tile(from + r * from_stride + c, from_stride, to + c * to_stride + r,
                         to_stride);
      }
    };
    for (int64_t c = 0; c < whole_columns; c += kLine)
      for (int64_t r = 0; r < whole_rows; r += kLine) turn(r, c);
    auto rest = [&](int64_t first_row, int64_t first_column, int64_t last_column) {
      for (int64_t c = first_column; c < last_column; ++c)
        for (int64_t r = first_row; r < rows; ++r)
          to[c * to_stride + r] = from[r * from_stride + c];
    };
    rest(whole_rows, 0, whole_columns);
    rest(0, whole_columns, columns);
  }

  // Calls move(first, count) for the runs of lanes where the guard holds.
  template <typename Move>
  static void for_each_run(int64_t n, const uint8_t* guard, const Move& move) {
    auto find = [&](int64_t from, int what) {
      const void* at = std::memchr(guard + from, what, static_cast<size_t>(n - from));
      return at == nullptr ? n : static_cast<const uint8_t*>(at) - guard;
    };
    for (int64_t first = find(0, 1); first < n;) {
      int64_t last = find(first, 0);
      move(first, last - first);
      first = last < n ? find(last, 1) : n;
    }
  }

  static void load_guarded(int64_t n, void* dst, const void* src, int64_t base, int64_t stride,
                           const uint8_t* guard) {
    auto* to = static_cast<E*>(dst);
    auto* from = static_cast<const E*>(src);
    if (stride == 1)
      return for_each_run(n, guard, [&](int64_t first, int64_t count) {
        std::memcpy(to + first, from + base + first, static_cast<size_t>(count) * sizeof(E));
      });
    for (int64_t i = 0; i < n; ++i)
      if (guard[i]) to[i] = from[base + i * stride];
  }

  static void store_guarded(int64_t n, void* dst, const void* src, int64_t base, int64_t stride,
                            const uint8_t* guard) {
    auto* to = static_cast<E*>(dst);
    auto* from = static_cast<const E*>(src);
    if (stride == 1)
      return for_each_run(n, guard, [&](int64_t first, int64_t count) {
        std::memcpy(to + base + first, from + first, static_cast<size_t>(count) * sizeof(E));
      });
    for (int64_t i = 0; i < n; ++i)
      if (guard[i]) to[base + i * stride] = from[i];
  }

  template <typename Index>
  static void gather(int64_t n, void* dst, const void* src, const Index* index,
                     const uint8_t* guard) {
    auto* to = static_cast<E*>(dst);
    auto* from = static_cast<const E*>(src);
    if (guard == nullptr) {
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) to[i] = from[index[i]];
    } else {
      // Lanes without a place of their own read that of one that has.
      int64_t some = 0;
      while (some < n && !guard[some]) ++some;
      if (some == n) return;
      const Index safe = index[some];
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        const E value = from[guard[i] ? index[i] : safe];
        to[i] = guard[i] ? value : to[i];
      }
    }
  }

  // In lane order: where lanes store to one place, the last one stays.
  template <typename Index>
  static void scatter(int64_t n, void* dst, const void* src, const Index* index,
                      const uint8_t* guard) {
    auto* to = static_cast<E*>(dst);
    auto* from = static_cast<const E*>(src);
    for (int64_t i = 0; i < n; ++i)
      if (guard == nullptr || guard[i]) to[index[i]] = from[i];
  }

  static constexpr MoveFns kFns = {fill,
                                   load_strided,
                                   store_strided,
                                   copy_rows,
                                   interleave,
                                   transpose,
                                   load_guarded,
                                   store_guarded,
                                   gather<int32_t>,
                                   scatter<int32_t>,
                                   gather<int64_t>,
                                   scatter<int64_t>};
};

template <typename I, typename U>
void ramp(int64_t n, I* out, I base, I stride) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<I>(static_cast<U>(base) + static_cast<U>(stride) * static_cast<U>(i));
}

// (a + 1/2) / d is at least 1/(2d) away from every integer, far more than a double's
// rounding moves it, so the product with 1/d truncates to the exact quotient.
void index_div(int64_t n, int32_t* out, const int32_t* a, int32_t d) {
  const double reciprocal = 1.0 / d;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<int32_t>((static_cast<double>(a[i]) + 0.5) * reciprocal);
}

}  // namespace

void TUFF_LEVEL_FN(fill_move_lanes)(LaneTable& table) {
  table.moves[0] = Moves<uint8_t>::kFns;
  table.moves[1] = Moves<uint16_t>::kFns;
  table.moves[2] = Moves<uint32_t>::kFns;
  table.moves[3] = Moves<uint64_t>::kFns;
  table.ramp32 = ramp<int32_t, uint32_t>;
  table.ramp64 = ramp<int64_t, uint64_t>;
  table.index_div32 = index_div;
}

}  // namespace tuff::cpu
