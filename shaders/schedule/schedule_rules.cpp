#include "shaders/schedule/schedule_rules.h"

#include <algorithm>

namespace tuff {

int64_t power_of_two_at_least(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

int64_t divisor_or(int64_t n, int64_t low, int64_t high) {
  for (int64_t d = high; d >= std::max<int64_t>(low, 1); --d)
    if (n % d == 0) return d;
  return high;
}

int64_t enough_lanes(const Caps& caps) {
  constexpr int64_t kOfACore = 256;  // two subgroups a SIMD
  if (caps.cores > 0) return caps.cores * kOfACore;
  return caps.device_class == DeviceClass::kDiscreteGpu ? 20480 : 4096;
}

// A software rasteriser runs one subgroup per workgroup best; our CPU executor amortises
// each statement over a block; a GPU hides latency with several subgroups.
int64_t preferred_lanes(const Caps& caps) {
  switch (caps.device_class) {
    case DeviceClass::kCpu: return 512;
    case DeviceClass::kSoftwareRasteriser: return std::max<int64_t>(caps.subgroup_size, 4);
    case DeviceClass::kIntegratedGpu: return 64;
    case DeviceClass::kDiscreteGpu: return 128;
  }
  return 64;
}

}  // namespace tuff
