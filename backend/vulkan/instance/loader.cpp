#include "backend/vulkan/instance/loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>

namespace tuff {

namespace {

// A function of a driver's signature that does nothing.
template <typename Function>
struct Gone;
template <typename R, typename... Arguments>
struct Gone<R(VKAPI_PTR*)(Arguments...)> {
  static R VKAPI_CALL call(Arguments...) {
    if constexpr (std::is_same_v<R, VkResult>)
      return VK_ERROR_DEVICE_LOST;
    else
      return R();
  }
};

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
        fmt::format("The Vulkan loader does not open ({}). Install it (Debian: libvulkan1) and a "
                    "driver; `tuff doctor` says what is there. Or use the device cpu.",
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
#include "backend/vulkan/instance/functions.def"
  return table;
}

namespace {

// The loader's names, in the order in which they are tried.
constexpr const char* kLoaderNames[] = {
#if defined(__APPLE__)
    "libvulkan.1.dylib", "libMoltenVK.dylib"
#else
    "libvulkan.so.1", "libvulkan.so"  // the second is Android's
#endif
};

// What the first name fails with is what people can act on.
Result<LoaderTable> load_first_library() {
  Result<LoaderTable> first = load_vulkan_library(kLoaderNames[0]);
  for (const char* name : kLoaderNames)
    if (!first)
      if (Result<LoaderTable> other = load_vulkan_library(name)) return other;
  return first;
}

}  // namespace

Result<const LoaderTable*> load_vulkan() {
  static const Result<LoaderTable> loaded = load_first_library();
  if (!loaded) return loaded.error();
  return &*loaded;
}

const DeviceTable& gone_device_table() {
  static const DeviceTable gone = [] {
    DeviceTable table;
#define VK_DEVICE(name) table.name = Gone<PFN_vk##name>::call;
#define VK_DEVICE_OPTIONAL(name) VK_DEVICE(name)
#include "backend/vulkan/instance/functions.def"
    return table;
  }();
  return gone;
}

Result<InstanceTable> load_instance_table(const LoaderTable& loader, VkInstance instance) {
  InstanceTable table;
#define VK_INSTANCE_OPTIONAL(name) \
  table.name = reinterpret_cast<PFN_vk##name>(loader.GetInstanceProcAddr(instance, "vk" #name));
#define VK_INSTANCE(name)    \
  VK_INSTANCE_OPTIONAL(name) \
  if (table.name == nullptr) return missing_function(#name);
#include "backend/vulkan/instance/functions.def"
  return table;
}

Result<DeviceTable> load_device_table(const InstanceTable& instance, VkDevice device) {
  DeviceTable table;
#define VK_DEVICE(name)                                                                        \
  table.name = reinterpret_cast<PFN_vk##name>(instance.GetDeviceProcAddr(device, "vk" #name)); \
  if (table.name == nullptr) return missing_function(#name);
#define VK_DEVICE_OPTIONAL(name) \
  table.name = reinterpret_cast<PFN_vk##name>(instance.GetDeviceProcAddr(device, "vk" #name));
#include "backend/vulkan/instance/functions.def"
  for (const char* name : {"vkGetBufferDeviceAddress", "vkGetBufferDeviceAddressKHR"})
    if (table.GetBufferDeviceAddress == nullptr)
      table.GetBufferDeviceAddress =
          reinterpret_cast<PFN_vkGetBufferDeviceAddress>(instance.GetDeviceProcAddr(device, name));
  return table;
}

}  // namespace tuff
