// Caps: all that grouping, scheduling and printing may know about a device.
// Plain data: an immutable snapshot of limits and features after quirks. Vendor
// tests live only in backend/vulkan/quirks.def.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/type.h"

namespace tuff {

// Schedules that were measured: the text of a problem to that of its schedule
// (shaders/schedule/contraction_schedule.h). Whoever reads one checks it: it may be of another
// device.
using Tuning = std::map<std::string, std::string>;

enum class DeviceClass { kCpu, kSoftwareRasteriser, kIntegratedGpu, kDiscreteGpu };

// Matrices that a subgroup holds together and multiplies as one instruction ("cooperative"):
// m x k by k x n elements, whose products are added to m x n sums.
struct MatrixShape {
  int64_t m = 0, n = 0, k = 0;
  DType element = DType::kF16, sum = DType::kF32;
  bool operator==(const MatrixShape&) const = default;
};

struct Caps {
  std::string name = "cpu";
  DeviceClass device_class = DeviceClass::kCpu;
  bool library_calls = false;  // matmul and convolution go to a library (our CPU device)

  // Our CPU device makes code of kernels, with vectors of so many lanes of 32 bits: 16 take narrow
  // types as well, none 64 bits. 0: it interprets them.
  int64_t native_lanes = 0;

  // Storage and arithmetic of narrow and wide types.
  bool storage_8bit = true;
  bool storage_16bit = true;
  bool int64 = true;
  bool float64 = true;

  // f32 division and square root round as IEEE 754 says. Vulkan allows 2.5 ulp; where
  // that is all a device promises, kernels repair the result (same bits everywhere).
  bool native_division = false;

  // fma(a, b, c) rounds once, which repairs quotients and roots in few instructions. Vulkan
  // lets it round twice.
  bool fused_multiply_add = false;

  // The device's conversions from f16 to f32, and from f32 to f16, round to nearest even and
  // keep denormals. Vulkan promises neither; integer arithmetic does it elsewhere.
  bool native_f16_widen = false;
  bool native_f16_narrow = false;

  int64_t subgroup_size = 1;
  // Every subgroup has subgroup_size lanes, and a lane can read another one's register.
  bool subgroup_shuffle = false;
  // That is so only where a kernel asks for the size: else the driver chooses one for each.
  bool asks_subgroup_size = false;
  // Units that run workgroups, of two waves a SIMD and more each; 0 where no property tells.
  int64_t cores = 0;
  // In the device's order; empty where it has none, or has no full subgroups of subgroup_size.
  std::vector<MatrixShape> matrix_shapes;
  // Of 32 bits, that a lane has before its values go to memory.
  int64_t lane_registers = 256;
  int64_t max_group_invocations = 1 << 20;
  int64_t max_shared_bytes = 1 << 20;
  int64_t max_group_count = 65535;        // per dimension
  int64_t max_storage_buffers = 1 << 20;  // per stage
  int64_t max_storage_buffer_range = int64_t{1} << 60;
  int64_t max_allocation_bytes = int64_t{1} << 60;
  int64_t min_storage_offset_alignment = 64;
  int64_t max_push_constant_bytes = 128;
  bool buffer_device_address = true;

  // Total iterations of all serial loops one invocation may run; lavapipe 22.3
  // silently stops at 65,535 (see quirks.def). Schedules must stay below.
  int64_t max_loop_iterations = int64_t{1} << 60;

  // Schedules to take instead of those that would be chosen, or null.
  std::shared_ptr<const Tuning> tuning;

  // Who runs what this device has no kernel for, or null where nobody does.
  std::shared_ptr<const Caps> host;
};

inline bool is_gpu(const Caps& caps) {
  return caps.device_class == DeviceClass::kDiscreteGpu ||
         caps.device_class == DeviceClass::kIntegratedGpu;
}

}  // namespace tuff
