#include "backend/vulkan/loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tuff {

namespace {

Error missing_function(const char* name) {
  return {ErrorCode::kNoDevice,
          fmt::format("The Vulkan loader has no function vk{}; tuff needs Vulkan 1.1 or newer, so "
                      "update the loader (Debian: libvulkan1) and the driver.",
                      name),
          ""};
}

}  // namespace

Result<LoaderTable> load_vulkan_library(const char* file_name) {
  // Never closed: drivers leave threads and exit handlers behind.
  void* library = dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return Error{
        ErrorCode::kNoDevice,
        fmt::format("The Vulkan loader does not open ({}); install it (Debian: libvulkan1) "
                    "and a driver, or use the CPU with --device cpu.",
                    reason != nullptr ? reason : file_name),
        ""};
  }
  LoaderTable table;
  table.GetInstanceProcAddr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (table.GetInstanceProcAddr == nullptr) return missing_function("GetInstanceProcAddr");
#define VK_GLOBAL(name)                                                                      \
  table.name =                                                                               \
      reinterpret_cast<PFN_vk##name>(table.GetInstanceProcAddr(VK_NULL_HANDLE, "vk" #name)); \
  if (table.name == nullptr) return missing_function(#name);
#include "backend/vulkan/functions.def"
  return table;
}

Result<const LoaderTable*> load_vulkan() {
  static const Result<LoaderTable> loaded = load_vulkan_library("libvulkan.so.1");
  if (!loaded) return loaded.error();
  return &*loaded;
}

Result<InstanceTable> load_instance_table(const LoaderTable& loader, VkInstance instance) {
  InstanceTable table;
#define VK_INSTANCE_OPTIONAL(name) \
  table.name = reinterpret_cast<PFN_vk##name>(loader.GetInstanceProcAddr(instance, "vk" #name));
#define VK_INSTANCE(name)    \
  VK_INSTANCE_OPTIONAL(name) \
  if (table.name == nullptr) return missing_function(#name);
#include "backend/vulkan/functions.def"
  return table;
}

Result<DeviceTable> load_device_table(const InstanceTable& instance, VkDevice device) {
  DeviceTable table;
#define VK_DEVICE(name)                                                                        \
  table.name = reinterpret_cast<PFN_vk##name>(instance.GetDeviceProcAddr(device, "vk" #name)); \
  if (table.name == nullptr) return missing_function(#name);
#include "backend/vulkan/functions.def"
  for (const char* name : {"vkGetBufferDeviceAddress", "vkGetBufferDeviceAddressKHR"})
    if (table.GetBufferDeviceAddress == nullptr)
      table.GetBufferDeviceAddress =
          reinterpret_cast<PFN_vkGetBufferDeviceAddress>(instance.GetDeviceProcAddr(device, name));
  return table;
}

}  // namespace tuff
