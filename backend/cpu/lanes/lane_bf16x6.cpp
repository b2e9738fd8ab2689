// What bf16x6.h is made of, with AMX.
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "backend/cpu/gemm/bf16x6.h"
#include "backend/cpu/lanes/lane_finish.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/lane_transpose.h"

namespace tuff::cpu {
namespace {

constexpr int64_t kTileLines = 16, kTileBytes = 1024, kPartBytes = 2 * kTileBytes;
constexpr int64_t kBlockBytes = kSplitParts * kPartBytes;
static_assert(kBlockBytes == kSplitBlock * 2 && kTileLines == kLanes);

constexpr int64_t kAhead = 4 * kSplitDepth;  // what is asked for ahead of use

// The words of a tile are two neighbours of a line. A tile of A has a line in each row, one of B
// has them in its columns.
using TileRows = Vector[kTileLines];

__m512 load_words(const float* from, int64_t count) {
  if (count >= kLanes) return _mm512_loadu_ps(from);
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(count <= 0 ? 0 : (1 << count) - 1), from);
}

// Splits lines, 16 of them and kSplitDepth deep at a time.
class Splitter {
 public:
  // Word i of the parts' row `row` becomes what even[i] and odd[i] are split into.
  TUFF_INLINE void split(__m512 even, __m512 odd, int row) {
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    largest_ = _mm512_max_epu32(largest_, _mm512_and_si512(_mm512_castps_si512(even), magnitude));
    largest_ = _mm512_max_epu32(largest_, _mm512_and_si512(_mm512_castps_si512(odd), magnitude));
    for (int part = 0; part < kSplitParts; ++part) {
      auto halves = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd, even));
      __m512i words = _mm512_permutexvar_epi16(pairs_, halves);
      parts_[part][row] = reinterpret_cast<Vector>(words);
      even -= _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
      odd -= _mm512_castsi512_ps(_mm512_and_si512(words, high_));
    }
  }
  // Neighbours of a line that is 32 elements in two vectors.
  TUFF_INLINE void split_line(__m512 first, __m512 second, int row) {
    split(_mm512_permutex2var_ps(first, evens_, second),
          _mm512_permutex2var_ps(first, odds_, second), row);
  }
  void transpose_parts() {
    for (TileRows& part : parts_) transpose(part);
  }
  // tile: of two, in the block.
  void store_parts(char* block, int64_t tile, bool columns) const {
    // See sum_block.
    constexpr int kPlaces[2][kSplitParts] = {{0, 2, 1}, {2, 1, 0}};
    for (int part = 0; part < kSplitParts; ++part)
      std::memcpy(block + kPlaces[columns][part] * kPartBytes + tile * kTileBytes, parts_[part],
                  kTileBytes);
  }
  uint32_t largest() const {
    uint32_t lanes[kLanes];
    std::memcpy(lanes, &largest_, sizeof lanes);
    return *std::max_element(lanes, lanes + kLanes);
  }

 private:
  static __m512i ramp(int step, int offset) {
    int values[16];
    for (int i = 0; i < 16; ++i) values[i] = step * i + offset;
    return _mm512_loadu_si512(values);
  }
  // 0, 16, 1, 17, ..: of the halves of a vector of 32.
  static __m512i interleaved() {
    return _mm512_or_si512(ramp(1, 0), _mm512_slli_epi32(ramp(1, 16), 16));
  }

  TileRows parts_[kSplitParts];
  __m512i largest_ = _mm512_setzero_si512();
  const __m512i pairs_ = interleaved(), high_ = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  const __m512i evens_ = ramp(2, 0), odds_ = ramp(2, 1);
};

// 16 lines from `line` on, from depth l on.
void split_tile(Splitter& splitter, const SplitSource& s, int64_t line, int64_t l) {
  const int64_t lines = std::clamp<int64_t>(s.lines - line, 0, kTileLines), depth = s.depth - l;
  if (s.step == 1) {
    for (int i = 0; i < kTileLines; ++i) {
      __m512 first = _mm512_setzero_ps(), second = first;
      if (i < lines) {
        int64_t at = s.offsets != nullptr ? s.offsets[line + i] : (line + i) * s.line;
        __builtin_prefetch(s.from + at + l + kAhead);
        __builtin_prefetch(s.from + at + l + kAhead + kFetched);
        first = load_words(s.from + at + l, depth);
        second = load_words(s.from + at + l + kLanes, depth - kLanes);
        if (s.factors != nullptr) {
          first *= _mm512_set1_ps(s.factors[line + i]);
          second *= _mm512_set1_ps(s.factors[line + i]);
        }
      }
      splitter.split_line(first, second, i);
    }
    if (s.columns) splitter.transpose_parts();
  } else {
    __m512 factors = _mm512_set1_ps(1);
    if (s.factors != nullptr) factors = load_words(s.factors + line, lines);
    for (int pair = 0; pair < kTileLines; ++pair) {
      auto row = [&](int64_t i) {
        if (i >= depth || lines == 0) return _mm512_setzero_ps();
        const float* from = s.from + (l + i) * s.step + line;
        __builtin_prefetch(from + kSplitDepth * s.step);
        return load_words(from, lines) * factors;
      };
      splitter.split(row(2 * pair), row(2 * pair + 1), pair);
    }
    if (!s.columns) splitter.transpose_parts();
  }
}

// A block of lines that are nowhere side by side.
void split_apart(Splitter& splitter, const SplitSource& s, int64_t line, int64_t l) {
  float copy[kTileLines * kSplitDepth];
  SplitSource block{copy, std::clamp<int64_t>(s.lines - line, 0, kTileLines)};
  block.depth = std::min(kSplitDepth, s.depth - l);
  block.line = kSplitDepth, block.step = 1, block.columns = s.columns;
  block.factors = s.factors == nullptr ? nullptr : s.factors + line;
  for (int64_t i = 0; i < block.lines; ++i)
    for (int64_t k = 0; k < block.depth; ++k)
      copy[i * kSplitDepth + k] = s.from[(line + i) * s.line + (l + k) * s.step];
  split_tile(splitter, block, 0, 0);
}

void split_block(const SplitSource& s, int64_t group, int64_t l) {
  Splitter splitter;
  uint16_t* to = s.to + group * s.to_group + l / kSplitDepth * kSplitBlock;
  for (int64_t tile = 0; tile < 2; ++tile) {
    int64_t line = group * kSplitLines + tile * kTileLines;
    if (s.step != 1 && s.line != 1 && s.lines > 1)
      split_apart(splitter, s, line, l);
    else
      split_tile(splitter, s, line, l);
    splitter.store_parts(reinterpret_cast<char*>(to), tile, s.columns);
  }
  s.largest[group] = std::max(s.largest[group], splitter.largest());
}

// In the order in which the elements lie.
void split_bf16x3(const SplitSource& s) {
  const int64_t groups = (s.lines + kSplitLines - 1) / kSplitLines;
  std::fill_n(s.largest, groups, 0);
  if (s.step == 1) {
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t l = 0; l < s.depth; l += kSplitDepth) split_block(s, group, l);
  } else {
    for (int64_t l = 0; l < s.depth; l += kSplitDepth)
      for (int64_t group = 0; group < groups; ++group) split_block(s, group, l);
  }
}

// Tiles 0 to 3: sums, two by two; 4, 5: of A; 6, 7: of B. All are whole.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  TileConfig() {
    std::fill_n(row_bytes, 8, 64);
    std::fill_n(rows, 8, kTileLines);
  }
};

template <bool kTwoRows, bool kTwoColumns>
TUFF_INLINE void multiply_parts() {
  _tile_dpbf16ps(0, 4, 6);
  if (kTwoColumns) _tile_dpbf16ps(1, 4, 7);
  if (kTwoRows) _tile_dpbf16ps(2, 5, 6);
  if (kTwoRows && kTwoColumns) _tile_dpbf16ps(3, 5, 7);
}
template <bool kTwo>
TUFF_INLINE void load_a(const char* part) {
  _tile_loadd(4, part, 64);
  if (kTwo) _tile_loadd(5, part + kTileBytes, 64);
}
template <bool kTwo>
TUFF_INLINE void load_b(const char* part) {
  _tile_loadd(6, part, 64);
  if (kTwo) _tile_loadd(7, part + kTileBytes, 64);
}

// Sums of a block of C. The parts lie in the order in which they are needed first: what streams
// from memory is fetched ahead by the processor then.
template <bool kTwoRows, bool kTwoColumns>
void sum_block(const char* a, const char* b, int64_t blocks, float* sums) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (; blocks > 0; --blocks, a += kBlockBytes, b += kBlockBytes) {
    constexpr struct {
      int a, b;  // -1: as before
    } kOrder[] = {{0, 0}, {-1, 1}, {-1, 2}, {1, -1}, {2, -1}, {-1, 1}};
    for (auto& [a_part, b_part] : kOrder) {
      if (a_part >= 0) load_a<kTwoRows>(a + a_part * kPartBytes);
      if (b_part >= 0) load_b<kTwoColumns>(b + b_part * kPartBytes);
      multiply_parts<kTwoRows, kTwoColumns>();
    }
  }
  constexpr int64_t kRowBytes = kSplitLines * 4;
  _tile_stored(0, sums, kRowBytes);
  if (kTwoColumns) _tile_stored(1, sums + kTileLines, kRowBytes);
  if (kTwoRows) _tile_stored(2, sums + kTileLines * kSplitLines, kRowBytes);
  if (kTwoRows && kTwoColumns) _tile_stored(3, sums + kTileLines * (kSplitLines + 1), kRowBytes);
}

void finish_block(const SplitProduct& product, int64_t i, int64_t j, const float* sums) {
  const RowProduct& p = product.result;
  const int64_t rows = std::min(kSplitLines, p.m - i), columns = std::min(kSplitLines, p.n - j);
  for (int64_t r = 0; r < rows; ++r, sums += kSplitLines) {
    Vector row[1][2] = {{load(sums), load(sums + kLanes)}};
    for (int v = 0; v < 2; ++v) {
      if (columns == kSplitLines)
        finish<true>(p, i + r, j + v * kLanes, row, v);
      else
        finish<false>(p, i + r, j + v * kLanes, row, v);
    }
  }
  if (product.function != nullptr) product.function(rows, columns, p.c + i * p.c_row + j, p.c_row);
}

// What a block of C needs when its sums are there.
void fetch_block(const RowProduct& p, int64_t i, int64_t j) {
  const int64_t rows = std::min(kSplitLines, p.m - i), columns = std::min(kSplitLines, p.n - j);
  const bool adds = p.addend != nullptr && p.addend != p.c;
  for (int64_t r = i; r < i + rows; ++r)
    for (int64_t c = j; c < j + columns; c += kFetched) {
      __builtin_prefetch(p.c + r * p.c_row + c, 1, 2);
      if (adds) __builtin_prefetch(p.addend + r * p.addend_row + c, 0, 2);
    }
}

// A block is finished while the next one's products are under way.
void multiply_bf16x6(const SplitProduct& p) {
  static const TileConfig config;
  _tile_loadconfig(&config);
  alignas(64) float sums[2][kSplitLines * kSplitLines];
  const int64_t row_groups = (p.result.m + kSplitLines - 1) / kSplitLines;
  const int64_t column_groups = (p.result.n + kSplitLines - 1) / kSplitLines;
  auto row_of = [&](int64_t b) { return p.by_rows ? b / column_groups : b % row_groups; };
  auto column_of = [&](int64_t b) { return p.by_rows ? b % column_groups : b / row_groups; };
  auto finish = [&](int64_t b) {
    finish_block(p, row_of(b) * kSplitLines, column_of(b) * kSplitLines, sums[b % 2]);
  };
  const int64_t blocks = row_groups * column_groups;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t r = row_of(block), c = column_of(block), i = r * kSplitLines, j = c * kSplitLines;
    const bool two_rows = p.result.m - i > kTileLines, two_columns = p.result.n - j > kTileLines;
    fetch_block(p.result, i, j);
    auto sum = two_rows ? (two_columns ? sum_block<true, true> : sum_block<true, false>)
                        : (two_columns ? sum_block<false, true> : sum_block<false, false>);
    sum(reinterpret_cast<const char*>(p.a + r * p.a_group),
        reinterpret_cast<const char*>(p.b + c * p.b_group), p.blocks, sums[block % 2]);
    if (block > 0) finish(block - 1);
  }
  finish(blocks - 1);
  _tile_release();
}

}  // namespace

void TUFF_LEVEL_FN(fill_bf16x6_lanes)(LaneTable& table) {
  table.split_bf16x3 = split_bf16x3;
  table.multiply_bf16x6 = multiply_bf16x6;
}

}  // namespace tuff::cpu
