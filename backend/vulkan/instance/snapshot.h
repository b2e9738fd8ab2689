// DeviceSnapshot: all that a Vulkan driver says about one device, read once.
// Plain data, so tests make up devices that no machine here has.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "backend/vulkan/instance/instance.h"

namespace tuff {

// One shape of VK_KHR_cooperative_matrix (component types by Vulkan's numbers).
struct CooperativeMatrixShape {
  uint32_t m = 0, n = 0, k = 0;
  int32_t a_type = 0, b_type = 0, c_type = 0, result_type = 0;
  bool saturating = false, subgroup_scope = false;
};

struct DeviceSnapshot {
  // Names, version, type, pipelineCacheUUID and limits.
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceFeatures features{};  // shaderInt64, shaderFloat64, shaderInt16 ...
  std::set<std::string> extensions;

  VkDriverId driver_id{};
  std::string driver_name, driver_info;  // "llvmpipe", "Mesa 22.3.6 (LLVM 15.0.6)"
  std::array<uint8_t, VK_UUID_SIZE> device_uuid{}, driver_uuid{};
  std::string pci_address;  // "0000:01:00.0"; empty: not told

  // Features beyond VkPhysicalDeviceFeatures: bits, not extension names, since
  // a driver may list an extension and refuse its feature.
  bool storage_8bit = false, storage_16bit = false;
  bool float16 = false, int8 = false;
  bool buffer_device_address = false;
  bool timeline_semaphore = false;
  bool vulkan_memory_model = false;
  bool subgroup_size_control = false, full_subgroups = false;
  bool signed_zero_inf_nan_preserve_f32 = false;
  bool cooperative_matrix = false;
  bool pipeline_executable_info = false;
  std::vector<CooperativeMatrixShape> cooperative_matrix_shapes;

  uint32_t subgroup_size = 1, min_subgroup_size = 0, max_subgroup_size = 0;  // 0: not told
  uint32_t cores = 0;  // compute units, multiprocessors or shader cores; 0: not told
  VkSubgroupFeatureFlags subgroup_operations = 0;
  VkShaderStageFlags subgroup_stages = 0, required_subgroup_size_stages = 0;

  uint64_t max_allocation_bytes = 0;  // maintenance3's maxMemoryAllocationSize
  uint64_t max_buffer_bytes = 0;      // maintenance4's maxBufferSize; 0: not told
  VkPhysicalDeviceMemoryProperties memory{};
  std::vector<uint64_t> heap_budget, heap_usage;  // one per heap; empty without memory_budget
  std::vector<VkQueueFamilyProperties> queue_families;
  bool host_is_arm64 = false;  // software drivers make code for the host
  // Of a device that an application made: what it turned on, as text (given.h). Else empty.
  std::string given;

  // Core version we may use: the device's, at most 1.3.
  uint32_t api_version() const {
    return properties.apiVersion < VK_API_VERSION_1_3 ? properties.apiVersion : VK_API_VERSION_1_3;
  }
  bool has(const char* extension) const { return extensions.contains(extension); }
};

// Asks the driver. The device must be of at least Vulkan 1.1 for more than its
// properties to be filled in.
Result<DeviceSnapshot> snapshot_device(const Instance& instance, VkPhysicalDevice device);

// Its memory, and what the driver lets this process have of each heap now: empty where the device
// of the snapshot does not tell.
struct MemoryState {
  VkPhysicalDeviceMemoryProperties properties{};
  std::vector<uint64_t> budget, usage;
};
MemoryState read_memory(const Instance& instance, VkPhysicalDevice device,
                        const DeviceSnapshot& snapshot);

// All that names the device and its driver: what is true of one need not be of another. The
// subgroup's size is not the driver's alone: LP_NATIVE_VECTOR_WIDTH sets lavapipe's.
std::string driver_identity(const DeviceSnapshot& snapshot);

// "1.3.230"
std::string format_version(uint32_t version);

}  // namespace tuff
