// The Vulkan backend as the rest of tuff sees it. No Vulkan header needed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/cache.h"
#include "backend/device.h"

namespace tuff {

// One Vulkan device of this machine, for `tuff devices` and `tuff doctor`.
struct DeviceInfo {
  int index = 0;                        // what create_vulkan_device takes
  std::string name;                     // "llvmpipe (LLVM 15.0.6, 256 bits)"
  std::string type;                     // "software", "integrated", "discrete", "virtual", "other"
  std::string driver;                   // "llvmpipe, Mesa 22.3.6 (LLVM 15.0.6)"
  std::string api_version;              // "1.3.230"
  int64_t memory_bytes = 0;             // of the largest device-local heap
  int64_t memory_available_bytes = -1;  // what the driver says is left of it; -1: it does not say
  std::string why_not;                  // empty iff tuff can use the device
  Caps caps;                            // after quirks; only if usable
  std::vector<std::string> quirks;      // "name: sentence" of each quirk in force
};

struct VulkanOptions {
  std::shared_ptr<DiskCache> cache;  // null: compiled kernels are not kept on disk
  bool force_staging = false;        // copy through staging memory even where mapping works
  std::shared_ptr<Device> host;      // runs what the device has no kernel for; may be null
};

// All Vulkan devices in the driver's order. Errors: kNoDevice (no loader, no driver).
Result<std::vector<DeviceInfo>> enumerate_vulkan_devices();

// Opens device `index`. Errors: kNoDevice with the reason why it cannot be used.
Result<std::unique_ptr<Device>> create_vulkan_device(int index, const VulkanOptions& options);
// Messages of Vulkan's validation layers so far, in this process. They count
// only when validation is on: TUFF_VALIDATION=1, or VK_INSTANCE_LAYERS naming
// the layer. Ask again after the last device is destroyed: leaks are told then.
int64_t validation_errors();
int64_t validation_warnings();

}  // namespace tuff
