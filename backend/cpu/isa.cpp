#include "backend/cpu/isa.h"

#include <fstream>

namespace tuff::cpu {

bool isa_level_available(IsaLevel level) {
  switch (level) {
    case IsaLevel::kBaseline: return true;
#ifdef TUFF_X86_LEVELS
    case IsaLevel::kAvx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case IsaLevel::kAvx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("fma");
#endif
    default: return false;
  }
}

IsaLevel best_isa_level() {
  if (isa_level_available(IsaLevel::kAvx512)) return IsaLevel::kAvx512;
  if (isa_level_available(IsaLevel::kAvx2)) return IsaLevel::kAvx2;
  return IsaLevel::kBaseline;
}

const char* isa_level_name(IsaLevel level) {
  switch (level) {
    case IsaLevel::kAvx2: return "AVX2+FMA";
    case IsaLevel::kAvx512: return "AVX-512";
    default: return "baseline";
  }
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
    if (start != std::string::npos) return line.substr(start);
  }
  return "unknown processor";
}

}  // namespace tuff::cpu
