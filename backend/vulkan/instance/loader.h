// The Vulkan loader, opened at run time so that tuff starts on machines without
// one, and tables of the functions we call (functions.def).
#pragma once

#include <vulkan/vulkan.h>

#include "backend/vulkan/cooperative_matrix.h"
#include "ir/support/result.h"

namespace tuff {

struct LoaderTable {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
#define VK_GLOBAL(name) PFN_vk##name name = nullptr;
#include "backend/vulkan/instance/functions.def"
};

struct InstanceTable {
#define VK_INSTANCE(name) PFN_vk##name name = nullptr;
#define VK_INSTANCE_OPTIONAL(name) PFN_vk##name name = nullptr;
#include "backend/vulkan/instance/functions.def"
};

struct DeviceTable {
#define VK_DEVICE(name) PFN_vk##name name = nullptr;
#define VK_DEVICE_OPTIONAL(name) PFN_vk##name name = nullptr;
#include "backend/vulkan/instance/functions.def"
  PFN_vkGetBufferDeviceAddress GetBufferDeviceAddress = nullptr;  // null without the feature
};

// Opens the loader once per process; it stays open. Errors: kNoDevice.
Result<const LoaderTable*> load_vulkan();

// Opens the library of that name; what load_vulkan does, without remembering.
Result<LoaderTable> load_vulkan_library(const char* file_name);

// What stands for a device's functions once the process ends: each does nothing, or fails with
// VK_ERROR_DEVICE_LOST.
const DeviceTable& gone_device_table();

Result<InstanceTable> load_instance_table(const LoaderTable& loader, VkInstance instance);
Result<DeviceTable> load_device_table(const InstanceTable& table, VkDevice device);

}  // namespace tuff
