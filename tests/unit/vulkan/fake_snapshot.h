// Snapshots of devices that this machine does not have.
#pragma once

#include <cstring>

#include "backend/vulkan/instance/snapshot.h"

namespace tuff {

// A discrete card as the specification's minimum has it, with 8 GiB.
inline DeviceSnapshot fake_snapshot() {
  DeviceSnapshot s;
  s.properties.apiVersion = VK_MAKE_API_VERSION(0, 1, 3, 230);
  s.properties.driverVersion = VK_MAKE_API_VERSION(0, 1, 2, 3);
  s.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  std::strcpy(s.properties.deviceName, "Fake 9000");
  VkPhysicalDeviceLimits& limits = s.properties.limits;
  limits.maxComputeWorkGroupCount[0] = limits.maxComputeWorkGroupCount[1] = 65535;
  limits.maxComputeWorkGroupCount[2] = 65535;
  limits.maxComputeWorkGroupInvocations = 1024;
  limits.maxComputeWorkGroupSize[0] = 1024;
  limits.maxComputeSharedMemorySize = 32768;
  limits.maxStorageBufferRange = uint32_t{1} << 27;
  limits.maxPerStageDescriptorStorageBuffers = 32;
  limits.maxDescriptorSetStorageBuffers = 24;
  limits.maxPerStageResources = 128;
  limits.minStorageBufferOffsetAlignment = 256;
  limits.maxPushConstantsSize = 128;
  limits.maxMemoryAllocationCount = 4096;
  s.driver_id = VK_DRIVER_ID_AMD_PROPRIETARY;
  s.subgroup_size = 32;
  s.max_allocation_bytes = uint64_t{4} << 30;
  s.memory.memoryHeapCount = 2;
  s.memory.memoryHeaps[0] = {uint64_t{8} << 30, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  s.memory.memoryHeaps[1] = {uint64_t{16} << 30, 0};
  s.memory.memoryTypeCount = 3;
  s.memory.memoryTypes[0] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
  s.memory.memoryTypes[1] = {
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 1};
  s.memory.memoryTypes[2] = {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                 VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                                 VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                             1};
  s.queue_families = {
      {VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 1, 64, {1, 1, 1}},
      {VK_QUEUE_TRANSFER_BIT, 2, 64, {1, 1, 1}},
      {VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 4, 64, {1, 1, 1}}};
  return s;
}

// Mesa's software device, as bookworm's 22.3.6 tells of itself.
inline DeviceSnapshot fake_lavapipe(const char* driver_info) {
  DeviceSnapshot s = fake_snapshot();
  s.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
  s.properties.driverVersion = 1;
  std::strcpy(s.properties.deviceName, "llvmpipe (LLVM 15.0.6, 256 bits)");
  s.driver_id = VK_DRIVER_ID_MESA_LLVMPIPE;
  s.driver_name = "llvmpipe";
  s.driver_info = driver_info;
  s.memory.memoryHeapCount = s.memory.memoryTypeCount = 1;
  s.memory.memoryHeaps[0] = {uint64_t{2} << 30, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  s.memory.memoryTypes[0] = {
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
          VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
      0};
  s.queue_families = {
      {VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 1, 64, {1, 1, 1}}};
  return s;
}

}  // namespace tuff
