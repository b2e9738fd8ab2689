// Roof: how fast a device is at best, measured with our own kernels. What profiles
// compare with; kept on disk, since measuring takes seconds.
#pragma once

#include <optional>
#include <string>

#include "backend/cache.h"
#include "backend/device.h"

namespace tuff {

// Rates are the best of several runs; 0 where the device cannot do it.
struct Roof {
  std::string device;                     // Device::description()
  std::string date;                       // "2026-11-21T20:00:00Z"
  double f32_gflops = 0, f16_gflops = 0;  // square matmul, 2 n^3 FLOP
  double copy_gbps = 0;                   // bytes read plus bytes written, a plain copy
  double dispatch_us = 0;                 // each further small dependent step of a run
  double submit_us = 0;                   // a run of one small step
};

// Takes a few seconds; nothing else should run meanwhile. `date` is put in.
Result<Roof> measure_roof(Device& device, std::string date);

// The roof measured last on a device with this description. A damaged or older entry
// is none.
std::optional<Roof> load_roof(DiskCache& cache, const std::string& device);
void store_roof(DiskCache& cache, const Roof& roof);

}  // namespace tuff
