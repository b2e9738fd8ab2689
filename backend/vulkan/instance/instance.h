// The Vulkan instance: one per process, once anything has used it. With validation
// asked for it goes with its last user, and a messenger counts what the layers say.
#pragma once

#include <memory>
#include <vector>

#include "backend/vulkan/instance/loader.h"

namespace tuff {

class Instance {
 public:
  // The instance in use, or a new one. Validation is asked for by TUFF_VALIDATION=1
  // (enables VK_LAYER_KHRONOS_validation with synchronization validation) or by
  // naming the layer in VK_INSTANCE_LAYERS. Errors: kNoDevice, or kUsage when
  // the layer asked for is not installed.
  static Result<std::shared_ptr<Instance>> acquire();
  // One of the application's own, which outlives this; made for that version of Vulkan.
  // `get_instance_proc_addr` may be null: the loader's.
  static Result<std::shared_ptr<Instance>> adopt(VkInstance handle, uint32_t api_version,
                                                 PFN_vkGetInstanceProcAddr get_instance_proc_addr);
  ~Instance();
  // True once the process ends. Drivers take themselves down then, in an order of their own; what
  // is destroyed later, such as a device that a static variable holds, must call none of them.
  static bool drivers_end();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  VkInstance handle() const { return handle_; }
  const InstanceTable& table() const { return table_; }
  // What its devices may be used as, at most.
  uint32_t api_version() const { return api_version_; }
  Result<std::vector<VkPhysicalDevice>> physical_devices() const;
  // Number `index` of them. Errors: kNoDevice.
  Result<VkPhysicalDevice> physical_device(int index) const;

 private:
  Instance() = default;
  Status create();

  VkInstance handle_ = VK_NULL_HANDLE;
  bool adopted_ = false;
  uint32_t api_version_ = UINT32_MAX;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  InstanceTable table_;
};

}  // namespace tuff
