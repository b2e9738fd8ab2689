// Products of bytes.h with AMX.
#include <cpuid.h>
#include <immintrin.h>

#include <algorithm>

#include "backend/cpu/gemm/bytes.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/level.h"

namespace tuff::cpu {
namespace {

constexpr int64_t kTileColumns = kByteColumns / 2, kTileBytes = kByteBlock / 2;

// Tiles 0 to 3: sums, two by two; 4, 5: of A; 6, 7: of B. Those of fewer rows in all have as many.
struct alignas(64) ByteTileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  explicit ByteTileConfig(int64_t all_rows) {
    std::fill_n(row_bytes, 8, 64);
    std::fill_n(rows, 6, std::min(all_rows, kByteTileRows));
    std::fill_n(rows + 6, 2, kByteTileRows);
  }
};

// The intrinsics are macros that want digits.
#define TUFF_MULTIPLY_TILES(sum, a, b) \
  do {                                 \
    if (kSigned)                       \
      _tile_dpbssd(sum, a, b);         \
    else                               \
      _tile_dpbusd(sum, a, b);         \
  } while (false)

// The sums of two tiles of rows, or one; all columns go to where rows are `to_row` apart.
template <bool kSigned, bool kTwoRows, bool kTwoColumns>
void sum_tiles(const BytePanels& p, int64_t row, int64_t next_row, int32_t* to, int32_t* next_to,
               int64_t to_row) {
  // One row of shifts, read for each row of a tile.
  _tile_loadd(0, p.shifts, 0);
  if (kTwoColumns) _tile_loadd(1, p.shifts + kTileColumns, 0);
  if (kTwoRows) _tile_loadd(2, p.shifts, 0);
  if (kTwoRows && kTwoColumns) _tile_loadd(3, p.shifts + kTileColumns, 0);
  const uint8_t *a = p.a + row * p.a_row, *next_a = p.a + next_row * p.a_row;
  const int8_t* b = p.b;
  for (int64_t block = 0; block < p.blocks; ++block) {
    _tile_loadd(6, b, 64);
    _tile_loadd(4, a, p.a_row);
    TUFF_MULTIPLY_TILES(0, 4, 6);
    if (kTwoColumns) {
      _tile_loadd(7, b + kTileBytes, 64);
      TUFF_MULTIPLY_TILES(1, 4, 7);
    }
    if (kTwoRows) {
      _tile_loadd(5, next_a, p.a_row);
      TUFF_MULTIPLY_TILES(2, 5, 6);
    }
    if (kTwoRows && kTwoColumns) TUFF_MULTIPLY_TILES(3, 5, 7);
    a += kByteDepth, next_a += kByteDepth, b += kByteBlock;
  }
  _tile_stored(0, to, to_row * 4);
  if (kTwoColumns) _tile_stored(1, to + kTileColumns, to_row * 4);
  if (kTwoRows) _tile_stored(2, next_to, to_row * 4);
  if (kTwoRows && kTwoColumns) _tile_stored(3, next_to + kTileColumns, to_row * 4);
}

// The last tile of rows overlaps the one before it rather than to reach beyond the rows.
template <bool kSigned, bool kTwoColumns>
void multiply_panel(const BytePanels& p) {
  const int64_t tiles = (p.rows + kByteTileRows - 1) / kByteTileRows;
  const bool whole = p.columns == kByteColumns || p.columns == kTileColumns;
  alignas(64) int32_t block[2 * kByteTileRows * kByteColumns];
  const int64_t last = std::max<int64_t>(p.rows - kByteTileRows, 0);
  auto row_of = [&](int64_t tile) { return std::min(tile * kByteTileRows, last); };
  for (int64_t tile = 0; tile < tiles; tile += 2) {
    const bool two = tile + 1 < tiles;
    const int64_t row = row_of(tile), next = two ? row_of(tile + 1) : row;
    int32_t* to = whole ? p.c + row * p.c_row : block;
    int32_t* next_to = whole ? p.c + next * p.c_row : block + kByteTileRows * kByteColumns;
    const int64_t to_row = whole ? p.c_row : kByteColumns;
    if (two)
      sum_tiles<kSigned, true, kTwoColumns>(p, row, next, to, next_to, to_row);
    else
      sum_tiles<kSigned, false, kTwoColumns>(p, row, next, to, next_to, to_row);
    if (whole) continue;
    for (int64_t r = 0; r < std::min(kByteTileRows, p.rows); ++r) {
      std::copy_n(to + r * kByteColumns, p.columns, p.c + (row + r) * p.c_row);
      if (two) std::copy_n(next_to + r * kByteColumns, p.columns, p.c + (next + r) * p.c_row);
    }
  }
}

template <bool kSigned>
void multiply_panels(const BytePanels& panels) {
  for (int64_t i = 0; i < panels.panels(); ++i) {
    const BytePanels p = panels.panel(i);
    if (p.columns > kTileColumns)
      multiply_panel<kSigned, true>(p);
    else
      multiply_panel<kSigned, false>(p);
  }
}

void multiply_bytes(const BytePanels& p) {
  const ByteTileConfig config(p.rows);
  _tile_loadconfig(&config);
  p.a_signed ? multiply_panels<true>(p) : multiply_panels<false>(p);
  _tile_release();
}

bool has_amx_int8() {
  constexpr unsigned kAmxInt8 = 1u << 25;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kAmxInt8) != 0;
}

}  // namespace

void TUFF_LEVEL_FN(fill_byte_tile_lanes)(LaneTable& table) {
  if (!has_amx_int8()) return;
  table.multiply_bytes = multiply_bytes;
  table.multiplies_i8 = true;
}

}  // namespace tuff::cpu
