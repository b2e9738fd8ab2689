// Included first by the files that are compiled once per processor level (see
// CMakeLists.txt). TUFF_LEVEL is the level's name, TUFF_LEVEL_FN(f) a function's
// name at that level.
#pragma once

#ifndef TUFF_LEVEL
#error "compile with -DTUFF_LEVEL=baseline, avx2, avx512 or amx"
#endif

#define TUFF_LEVEL_JOIN(a, b) a##_##b
#define TUFF_LEVEL_EXPAND(a, b) TUFF_LEVEL_JOIN(a, b)
#define TUFF_LEVEL_FN(name) TUFF_LEVEL_EXPAND(name, TUFF_LEVEL)

// A call inside a loop over lanes keeps it from being vectorised.
#define TUFF_INLINE inline __attribute__((always_inline))

namespace tuff::cpu {

struct LaneTable;

// Each fills its part of the table.
void TUFF_LEVEL_FN(fill_float_lanes)(LaneTable& table);
void TUFF_LEVEL_FN(fill_integer_lanes)(LaneTable& table);
void TUFF_LEVEL_FN(fill_convert_lanes)(LaneTable& table);
void TUFF_LEVEL_FN(fill_move_lanes)(LaneTable& table);
void TUFF_LEVEL_FN(fill_row_lanes)(LaneTable& table);
void TUFF_LEVEL_FN(fill_product_lanes)(LaneTable& table);
void TUFF_LEVEL_FN(fill_dot_lanes)(LaneTable& table);
void TUFF_LEVEL_FN(fill_gelu_lanes)(LaneTable& table);
void TUFF_LEVEL_FN(fill_depthwise_lanes)(LaneTable& table);
void TUFF_LEVEL_FN(fill_winograd_lanes)(LaneTable& table);
void TUFF_LEVEL_FN(fill_fourier_lanes)(LaneTable& table);
void TUFF_LEVEL_FN(fill_byte_lanes)(LaneTable& table);
void TUFF_LEVEL_FN(fill_bf16x6_lanes)(LaneTable& table);  // these two of amx only
void TUFF_LEVEL_FN(fill_byte_tile_lanes)(LaneTable& table);

}  // namespace tuff::cpu
