#include "backend/cpu/isa.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

#ifdef TUFF_AMX
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tuff::cpu {

namespace {

#ifdef TUFF_AMX
// AMX with bf16, and AVX-512's conversions to that. Linux lends a process the tiles when it asks.
bool lent_amx() {
  constexpr unsigned kAmxBf16 = 1u << 22, kAmxTile = 1u << 24, kAvx512Bf16 = 1u << 5;
  constexpr long kRequestComponent = 0x1023, kTileData = 18;  // arch_prctl(2)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  if ((d & kAmxBf16) == 0 || (d & kAmxTile) == 0) return false;
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || (a & kAvx512Bf16) == 0) return false;
  return syscall(SYS_arch_prctl, kRequestComponent, kTileData) == 0;
}
#endif

}  // namespace

bool isa_level_available(IsaLevel level) {
  switch (level) {
    case IsaLevel::kBaseline: return true;
#ifdef TUFF_X86_LEVELS
    // Whatever has AVX2 also converts f16.
    case IsaLevel::kAvx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case IsaLevel::kAvx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("fma");
#endif
#ifdef TUFF_AMX
    case IsaLevel::kAmx: {
      static const bool lent = isa_level_available(IsaLevel::kAvx512) && lent_amx();
      return lent;
    }
#endif
    default: return false;
  }
}

IsaLevel best_isa_level() {
  if (isa_level_available(IsaLevel::kAmx)) return IsaLevel::kAmx;
  if (isa_level_available(IsaLevel::kAvx512)) return IsaLevel::kAvx512;
  if (isa_level_available(IsaLevel::kAvx2)) return IsaLevel::kAvx2;
  return IsaLevel::kBaseline;
}

Result<IsaLevel> chosen_isa_level() {
  const char* value = std::getenv("TUFF_CPU_ISA");
  if (value == nullptr || *value == 0) return best_isa_level();
  constexpr std::array<std::string_view, kNumIsaLevels> kValues{"baseline", "avx2", "avx512",
                                                                "amx"};
  auto found = std::find(kValues.begin(), kValues.end(), std::string_view(value));
  if (found == kValues.end())
    return Error{ErrorCode::kUsage,
                 "TUFF_CPU_ISA is (" + std::string(value) +
                     "); it limits what the CPU device uses of the processor and may be baseline, "
                     "avx2, avx512 or amx.",
                 ""};
  return std::min(static_cast<IsaLevel>(found - kValues.begin()), best_isa_level());
}

const char* isa_level_name(IsaLevel level) {
  switch (level) {
    case IsaLevel::kAmx: return "AVX-512 and AMX";
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
