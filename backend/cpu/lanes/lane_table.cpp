#include "backend/cpu/lanes/lane_table.h"

#include "ir/support/result.h"

namespace tuff::cpu {

#define TUFF_DECLARE_LEVEL(level)                \
  void fill_float_lanes_##level(LaneTable&);     \
  void fill_integer_lanes_##level(LaneTable&);   \
  void fill_convert_lanes_##level(LaneTable&);   \
  void fill_move_lanes_##level(LaneTable&);      \
  void fill_row_lanes_##level(LaneTable&);       \
  void fill_product_lanes_##level(LaneTable&);   \
  void fill_dot_lanes_##level(LaneTable&);       \
  void fill_gelu_lanes_##level(LaneTable&);      \
  void fill_depthwise_lanes_##level(LaneTable&); \
  void fill_byte_lanes_##level(LaneTable&);      \
  void fill_winograd_lanes_##level(LaneTable&);  \
  void fill_fourier_lanes_##level(LaneTable&);   \
  void fill_window_lanes_##level(LaneTable&);    \
  static const LaneTable& table_##level() {      \
    static const LaneTable table = [] {          \
      LaneTable t;                               \
      fill_float_lanes_##level(t);               \
      fill_integer_lanes_##level(t);             \
      fill_convert_lanes_##level(t);             \
      fill_move_lanes_##level(t);                \
      fill_row_lanes_##level(t);                 \
      fill_product_lanes_##level(t);             \
      fill_dot_lanes_##level(t);                 \
      fill_gelu_lanes_##level(t);                \
      fill_depthwise_lanes_##level(t);           \
      fill_byte_lanes_##level(t);                \
      fill_winograd_lanes_##level(t);            \
      fill_fourier_lanes_##level(t);             \
      fill_window_lanes_##level(t);              \
      return t;                                  \
    }();                                         \
    return table;                                \
  }

TUFF_DECLARE_LEVEL(baseline)
#ifdef TUFF_X86_LEVELS
TUFF_DECLARE_LEVEL(avx2)
TUFF_DECLARE_LEVEL(avx512)
#endif

#ifdef TUFF_AMX
void fill_bf16x6_lanes_amx(LaneTable&);
void fill_byte_tile_lanes_amx(LaneTable&);
static const LaneTable& table_amx() {
  static const LaneTable table = [] {
    LaneTable t = table_avx512();
    fill_bf16x6_lanes_amx(t);
    fill_byte_tile_lanes_amx(t);
    return t;
  }();
  return table;
}
#endif

const LaneTable& lane_table(IsaLevel level) {
  TUFF_CHECK(isa_level_available(level), isa_level_name(level));
#ifdef TUFF_AMX
  if (level == IsaLevel::kAmx) return table_amx();
#endif
#ifdef TUFF_X86_LEVELS
  if (level == IsaLevel::kAvx512) return table_avx512();
  if (level == IsaLevel::kAvx2) return table_avx2();
#endif
  return table_baseline();
}

}  // namespace tuff::cpu
