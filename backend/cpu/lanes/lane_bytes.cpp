// What bytes.h is made of, with AVX-512's VNNI where the processor has it.
#include <algorithm>
#include <cstring>

#include "backend/cpu/gemm/bytes.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/level.h"
#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace tuff::cpu {
namespace {

constexpr int64_t kTileColumns = kByteColumns / 2, kTileBytes = kByteBlock / 2;

// Where step `k` of column j lies in a panel.
TUFF_INLINE int64_t place_in_panel(int64_t k, int64_t j) {
  return k / kByteDepth * kByteBlock + j / kTileColumns * kTileBytes + k % kByteDepth / 4 * 64 +
         j % kTileColumns * 4 + k % 4;
}

void pack_bytes(const ByteColumns& p) {
  int32_t sums[kByteColumns] = {};
  for (int64_t i = 0; i < p.rows;) {
    const int64_t k = p.first + i;
    const uint8_t* from = p.from + i * p.row;
    if (p.row == 1 && k % 4 == 0 && p.rows - i >= 4) {  // four steps of a column are one word
      const uint32_t flip = 0x01010101u * p.flip;
      for (int64_t j = 0; j < p.columns; ++j) {
        uint32_t word;
        std::memcpy(&word, from + j * p.col, 4);
        word ^= flip;
        int8_t parts[4];
        std::memcpy(parts, &word, 4);
        std::memcpy(p.to + place_in_panel(k, j), parts, 4);
        sums[j] += parts[0] + parts[1] + parts[2] + parts[3];
      }
      i += 4;
      continue;
    }
    for (int64_t tile = 0; tile < p.columns; tile += kTileColumns) {
      int8_t* to = p.to + place_in_panel(k, tile);
      const int64_t columns = std::min(kTileColumns, p.columns - tile);
      for (int64_t j = 0; j < columns; ++j) {
        auto byte = static_cast<int8_t>(from[(tile + j) * p.col] ^ p.flip);
        to[j * 4] = byte;
        sums[tile + j] += byte;
      }
    }
    ++i;
  }
  for (int64_t j = 0; j < p.columns; ++j) p.sums[j] += sums[j];
}

// Sums of `rows` rows and one tile of columns, as plain C++.
template <int kRows>
void sum_tile(const BytePanels& p, int64_t row, int64_t tile,
              int32_t (&sums)[kRows][kTileColumns]) {
  for (int r = 0; r < kRows; ++r)
    std::copy_n(p.shifts + tile * kTileColumns, kTileColumns, sums[r]);
  const uint8_t* a = p.a + row * p.a_row;
  for (int64_t k = 0; k < p.blocks * kByteDepth; k += 4) {
    const int8_t* b = p.b + place_in_panel(k, tile * kTileColumns);
    for (int r = 0; r < kRows; ++r) {
      const uint8_t* steps = a + r * p.a_row + k;
      for (int64_t j = 0; j < kTileColumns; ++j) {
        int32_t sum = 0;
        for (int s = 0; s < 4; ++s) sum += int32_t{steps[s]} * b[j * 4 + s];
        sums[r][j] += sum;
      }
    }
  }
}

#ifdef __AVX2__
// Four steps of four columns at a time become pairs of sums, which are added up at the end.
template <int kRows>
void sum_tile_by_pairs(const BytePanels& p, int64_t row, int64_t tile,
                       int32_t (&sums)[kRows][kTileColumns]) {
  __m256i pairs[kRows][4];
  for (auto& of_row : pairs)
    for (__m256i& v : of_row) v = _mm256_setzero_si256();
  const uint8_t* a = p.a + row * p.a_row;
  for (int64_t k = 0; k < p.blocks * kByteDepth; k += 4) {
    const int8_t* b = p.b + place_in_panel(k, tile * kTileColumns);
    __m256i steps[kRows];
    for (int r = 0; r < kRows; ++r) {
      int32_t word;
      std::memcpy(&word, a + r * p.a_row + k, 4);
      steps[r] = _mm256_cvtepu8_epi16(_mm_set1_epi32(word));
    }
    for (int q = 0; q < 4; ++q) {
      __m256i columns =
          _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b + q * 16)));
      for (int r = 0; r < kRows; ++r)
        pairs[r][q] = _mm256_add_epi32(pairs[r][q], _mm256_madd_epi16(steps[r], columns));
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int q = 0; q < 4; ++q) {
      int32_t two[8];
      std::memcpy(two, &pairs[r][q], sizeof two);
      for (int j = 0; j < 4; ++j)
        sums[r][q * 4 + j] =
            p.shifts[tile * kTileColumns + q * 4 + j] + two[2 * j] + two[2 * j + 1];
    }
}
#endif

template <int kRows>
void multiply_rows_of_tile(const BytePanels& p, int64_t row, int64_t tile) {
  int32_t sums[kRows][kTileColumns];
#ifdef __AVX2__
  sum_tile_by_pairs<kRows>(p, row, tile, sums);
#else
  sum_tile<kRows>(p, row, tile, sums);
#endif
  const int64_t first = tile * kTileColumns;
  const int64_t columns = std::min(kTileColumns, p.columns - first);
  for (int r = 0; r < kRows; ++r) std::copy_n(sums[r], columns, p.c + (row + r) * p.c_row + first);
}

void multiply_bytes(const BytePanels& panels) {
  for (int64_t i = 0; i < panels.panels(); ++i) {
    const BytePanels p = panels.panel(i);
    for (int64_t tile = 0; tile * kTileColumns < p.columns; ++tile) {
      int64_t row = 0;
      for (; row + 2 <= p.rows; row += 2) multiply_rows_of_tile<2>(p, row, tile);
      for (; row < p.rows; ++row) multiply_rows_of_tile<1>(p, row, tile);
    }
  }
}

#ifdef __AVX512BW__
#define TUFF_VNNI __attribute__((target("avx512vnni")))

TUFF_VNNI inline __mmask16 columns_from(const BytePanels& p, int64_t first) {
  const int64_t left = std::clamp<int64_t>(p.columns - first, 0, kTileColumns);
  return static_cast<__mmask16>((1u << left) - 1);
}

template <int kRows>
TUFF_VNNI void multiply_rows_by_vnni(const BytePanels& p, int64_t row) {
  __m512i sums[kRows][2];
  for (auto& of_row : sums)
    for (int v = 0; v < 2; ++v) of_row[v] = _mm512_loadu_si512(p.shifts + v * kTileColumns);
  const uint8_t* a = p.a + row * p.a_row;
  const int8_t* b = p.b;
  for (int64_t block = 0; block < p.blocks; ++block, b += kByteBlock, a += kByteDepth)
    for (int64_t word = 0; word < kByteDepth / 4; ++word) {
      __m512i first = _mm512_loadu_si512(b + word * 64);
      __m512i second = _mm512_loadu_si512(b + kTileBytes + word * 64);
      for (int r = 0; r < kRows; ++r) {
        int32_t steps;
        std::memcpy(&steps, a + r * p.a_row + word * 4, 4);
        __m512i four = _mm512_set1_epi32(steps);
        sums[r][0] = _mm512_dpbusd_epi32(sums[r][0], four, first);
        sums[r][1] = _mm512_dpbusd_epi32(sums[r][1], four, second);
      }
    }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < 2; ++v)
      _mm512_mask_storeu_epi32(p.c + (row + r) * p.c_row + v * kTileColumns,
                               columns_from(p, v * kTileColumns), sums[r][v]);
}

TUFF_VNNI void multiply_bytes_by_vnni(const BytePanels& panels) {
  for (int64_t i = 0; i < panels.panels(); ++i) {
    const BytePanels p = panels.panel(i);
    int64_t row = 0;
    for (; row + 8 <= p.rows; row += 8) multiply_rows_by_vnni<8>(p, row);
    for (; row + 2 <= p.rows; row += 2) multiply_rows_by_vnni<2>(p, row);
    for (; row < p.rows; ++row) multiply_rows_by_vnni<1>(p, row);
  }
}
#endif

}  // namespace

void TUFF_LEVEL_FN(fill_byte_lanes)(LaneTable& table) {
  table.pack_bytes = pack_bytes;
  table.multiply_bytes = multiply_bytes;
#ifdef __AVX512BW__
  if (__builtin_cpu_supports("avx512vnni")) table.multiply_bytes = multiply_bytes_by_vnni;
#endif
}

}  // namespace tuff::cpu
