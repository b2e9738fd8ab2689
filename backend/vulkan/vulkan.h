// The Vulkan backend as the rest of tuff sees it. No Vulkan header needed.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/cache.h"
#include "backend/device.h"
#include "backend/driver_statistics.h"

namespace tuff {

// One Vulkan device of this machine, for `tuff devices` and `tuff doctor`.
struct DeviceInfo {
  int index = 0;            // what create_vulkan_device takes
  std::string name;         // "llvmpipe (LLVM 15.0.6, 256 bits)"
  std::string type;         // "software", "integrated", "discrete", "virtual", "other"
  std::string driver;       // "llvmpipe, Mesa 22.3.6 (LLVM 15.0.6)"
  std::string api_version;  // "1.3.230"
  uint32_t vendor_id = 0, device_id = 0;  // PCI's, or Khronos' for what has none
  std::array<uint8_t, 16> uuid{};         // deviceUUID
  std::string pci_address;                // "0000:01:00.0"; empty where the driver does not tell
  int64_t memory_bytes = 0;               // of the largest device-local heap
  int64_t memory_available_bytes = -1;    // what the driver says is left of it; -1: it does not say
  std::string why_not;                    // empty iff tuff can use the device
  Caps caps;                              // after quirks; only if usable
  std::vector<std::string> quirks;        // "name: sentence" of each quirk in force
  // The self-test (README.md): done on this driver, or to be done when the device is opened.
  bool self_tested = false;
};

struct VulkanOptions {
  std::shared_ptr<DiskCache> cache;  // null: compiled kernels are not kept on disk
  bool force_staging = false;        // copy through staging memory even where mapping works
  std::shared_ptr<Device> host;      // runs what the device has no kernel for; may be null
  // Of the self-test, where it has to be made: a span is added, and what it finds wrong is told.
  Timeline* timeline = nullptr;
  std::function<void(const std::string& sentence)> tell;  // may be empty
};

// All Vulkan devices in the driver's order, as quirks and what `cache` knows of self-tests
// leave them; it may be null. Opens none. Errors: kNoDevice (no loader, no driver).
Result<std::vector<DeviceInfo>> enumerate_vulkan_devices(DiskCache* cache = nullptr);

// Device::description() of device `index`, which is not opened. Errors: kNoDevice.
Result<std::string> describe_vulkan_device(int index);

// Opens device `index`. One that is new to the cache is tested first, within two seconds
// (self_test.h). Errors: kNoDevice with the reason why it cannot be used.
Result<std::unique_ptr<Device>> create_vulkan_device(int index, const VulkanOptions& options);

// A device of the application's own. Handles are Vulkan's, as it defines them, and outlive the
// device that is made of them.
struct GivenDevice {
  void *instance = nullptr, *physical_device = nullptr, *device = nullptr, *queue = nullptr;
  void* get_instance_proc_addr = nullptr;  // null: the loader's
  const void* made_with = nullptr;         // VkDeviceCreateInfo; read during the call
  uint32_t queue_family = 0;
  uint32_t api_version = 0;            // VkApplicationInfo's
  std::function<void()> lock, unlock;  // around each use of the queue; may be empty
};
// Errors: kNoDevice with what it lacks, kUsage where something is missing.
Result<std::unique_ptr<Device>> adopt_vulkan_device(const GivenDevice& given,
                                                    const VulkanOptions& options);
// What follows is for devices of create_vulkan_device and adopt_vulkan_device.

// As it was when it was opened; the index says nothing. Errors: kUsage for other devices.
Result<DeviceInfo> vulkan_device_info(Device& device);

// A part of a VkBuffer, which must be usable as storage and for copies; `owner` is not null.
// Errors: kUsage where the device does not bind such an offset.
Result<BufferPtr> wrap_vulkan_buffer(Device& device, uint64_t handle, int64_t offset_bytes,
                                     int64_t size_bytes, std::shared_ptr<const void> owner);
// The VkBuffer that a buffer lies in, and where: not of empty ones, whose handle is 0.
struct VulkanPlace {
  uint64_t handle = 0;
  int64_t offset_bytes = 0;
};
VulkanPlace vulkan_place(const Buffer& buffer);
// A VkSemaphore, and a value where it counts.
struct VulkanSemaphore {
  uint64_t handle = 0, value = 0;
};
// What is run or copied later waits for the one, what was before signals the other.
Status submit_semaphores(Device& device, std::span<const VulkanSemaphore> wait,
                         std::span<const VulkanSemaphore> signal);

// The device takes these schedules (backend/tune.h) from now on, before those it has of the same
// problems, and keeps them in its cache. False if it has none. The device must be of
// create_vulkan_device, and nobody else may use it meanwhile.
bool take_tuning(Device& device, const Tuning& faster);

struct CompileOnDriverOptions {
  std::shared_ptr<DiskCache> cache;                // of SPIR-V; may be null
  std::function<void(int64_t, int64_t)> progress;  // (kernels done, of how many), from any thread
};
// What the driver of device `index` makes of the program's kernels, which are for `caps`, one
// entry each. Nothing runs on the device, so one that fails its self-test will do, too.
// Errors: kNoDevice; kUnsupported in one sentence where the driver does not tell.
Result<std::vector<DriverKernel>> compile_on_driver(int index, const Program& program,
                                                    const Caps& caps,
                                                    const CompileOnDriverOptions& options);

// Messages of Vulkan's validation layers so far, in this process. They count
// only when validation is on: TUFF_VALIDATION=1, or VK_INSTANCE_LAYERS naming
// the layer. Ask again after the last device is destroyed: leaks are told then.
int64_t validation_errors();
int64_t validation_warnings();

}  // namespace tuff
