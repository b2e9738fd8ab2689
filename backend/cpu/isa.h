// The x86-64 levels the lane functions are compiled for. One binary carries all
// of them and picks the best at run time; results are bit-identical at each, but for
// products (lane_product.cpp).
#pragma once

#include <string>

namespace tuff::cpu {

enum class IsaLevel { kBaseline, kAvx2, kAvx512 };
inline constexpr int kNumIsaLevels = 3;

// The best level that this processor runs and this build carries.
IsaLevel best_isa_level();
bool isa_level_available(IsaLevel level);
const char* isa_level_name(IsaLevel level);

// "AMD EPYC", or "unknown processor".
std::string processor_name();

}  // namespace tuff::cpu
