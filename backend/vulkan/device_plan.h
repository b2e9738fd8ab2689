// DevicePlan: what to ask of a device, decided by a pure function of its
// snapshot. All policy is here and in quirks.def; no driver is touched.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "backend/vulkan/instance/snapshot.h"
#include "ir/caps.h"

namespace tuff {

struct Version {
  uint32_t major = 0, minor = 0, patch = 0;
  auto operator<=>(const Version&) const = default;
};

struct Quirk {
  std::string name, sentence, link;
};

struct DevicePlan {
  std::vector<const char*> extensions;
  // Features to enable; each is on iff the snapshot has it and tuff uses it.
  VkPhysicalDeviceFeatures features{};
  bool storage_8bit = false, storage_16bit = false;
  bool float16 = false, int8 = false;
  bool buffer_device_address = false;
  bool cooperative_matrix = false;
  bool subgroup_sizes = false;  // kernels may ask for a size, and for full subgroups
  // Pipelines keep what the driver's compiler says of them: only where that is asked for.
  bool pipeline_statistics = false;
  uint32_t queue_family = 0;
  int memory_type = 0;  // of buffers
  // True iff the host reaches that memory: it writes it without a staging buffer.
  bool host_writes = false;
  // The host reads that many bytes out of it at most; more go through a staging buffer, since it
  // reads slowly what it does not cache.
  int64_t host_read_bytes = 0;
  bool timestamps = false;  // on the queue
  Caps caps;
  std::vector<Quirk> quirks;  // in force on this driver
};

// Errors: kNoDevice naming what the device lacks.
Result<DevicePlan> plan_device(const DeviceSnapshot& snapshot);

// The driver's version: "Mesa 22.3.6 (...)" of driverInfo where it says one
// (driverVersion of lavapipe 22.3.6 is 0.0.1), else driverVersion as the vendor packs it.
Version driver_version(const DeviceSnapshot& snapshot);

// Memory that the host reads and writes without flushing.
constexpr VkMemoryPropertyFlags kMapped =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

// The memory type of `allowed` bits with all `required` and most of the
// `preferred` properties, first one at a tie; -1 if there is none.
int choose_memory_type(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed,
                       VkMemoryPropertyFlags required, VkMemoryPropertyFlags preferred);

}  // namespace tuff
