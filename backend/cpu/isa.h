// The x86-64 levels the lane functions are compiled for. One binary carries all
// of them and picks the best at run time; results are bit-identical at each, but for
// products (lane_product.cpp, bf16x6.h).
#pragma once

#include <string>

#include "ir/support/result.h"

namespace tuff::cpu {

enum class IsaLevel { kBaseline, kAvx2, kAvx512, kAmx };
inline constexpr int kNumIsaLevels = 4;

// The best level that this processor and system run and this build carries.
IsaLevel best_isa_level();
// That, or what TUFF_CPU_ISA limits it to: baseline, avx2, avx512 or amx.
Result<IsaLevel> chosen_isa_level();
bool isa_level_available(IsaLevel level);
const char* isa_level_name(IsaLevel level);

// "AMD EPYC", or "unknown processor".
std::string processor_name();

}  // namespace tuff::cpu
