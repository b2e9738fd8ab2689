// Compiled once per processor level.
#include "backend/cpu/lanes/lane_compute.h"

namespace tuff::cpu {

void TUFF_LEVEL_FN(fill_integer_lanes)(LaneTable& table) {
  fill_compute<DType::kBool>(table);
  fill_compute<DType::kI8>(table);
  fill_compute<DType::kI16>(table);
  fill_compute<DType::kI32>(table);
  fill_compute<DType::kI64>(table);
  fill_compute<DType::kU8>(table);
  fill_compute<DType::kU16>(table);
  fill_compute<DType::kU32>(table);
  fill_compute<DType::kU64>(table);
}

}  // namespace tuff::cpu
