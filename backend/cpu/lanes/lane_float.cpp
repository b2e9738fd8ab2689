// Compiled once per processor level.
#include "backend/cpu/lanes/lane_compute.h"

namespace tuff::cpu {

void TUFF_LEVEL_FN(fill_float_lanes)(LaneTable& table) {
  fill_compute<DType::kF16>(table);
  fill_compute<DType::kBF16>(table);
  fill_compute<DType::kF32>(table);
  fill_compute<DType::kF64>(table);
}

}  // namespace tuff::cpu
