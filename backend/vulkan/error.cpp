#include "backend/vulkan/error.h"

#include <fmt/format.h>

namespace tuff {

std::string vk_result_name(VkResult result) {
  switch (result) {
#define NAME(value) \
  case value: return #value;
    NAME(VK_SUCCESS)
    NAME(VK_NOT_READY)
    NAME(VK_TIMEOUT)
    NAME(VK_INCOMPLETE)
    NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
    NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    NAME(VK_ERROR_INITIALIZATION_FAILED)
    NAME(VK_ERROR_DEVICE_LOST)
    NAME(VK_ERROR_MEMORY_MAP_FAILED)
    NAME(VK_ERROR_LAYER_NOT_PRESENT)
    NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
    NAME(VK_ERROR_FEATURE_NOT_PRESENT)
    NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
    NAME(VK_ERROR_TOO_MANY_OBJECTS)
    NAME(VK_ERROR_FRAGMENTED_POOL)
    NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
    NAME(VK_ERROR_FRAGMENTATION)
    NAME(VK_ERROR_INVALID_SHADER_NV)
    NAME(VK_ERROR_UNKNOWN)
#undef NAME
    default: return fmt::format("VkResult {}", static_cast<int>(result));
  }
}

Error vk_error(VkResult result, const std::string& phrase) {
  ErrorCode code = ErrorCode::kRunFailed;
  std::string advice;
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS: code = ErrorCode::kOutOfMemory; break;
    case VK_ERROR_DEVICE_LOST:
      code = ErrorCode::kDeviceLost;
      advice =
          " The driver reset the device: a kernel ran too long or touched memory it may not; "
          "start the process again.";
      break;
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      code = ErrorCode::kNoDevice;
      advice =
          " Install a Vulkan driver (Debian: mesa-vulkan-drivers); `tuff doctor` says what is "
          "there. Or use the device cpu.";
      break;
    default: break;
  }
  return {code, fmt::format("Vulkan fails to {} ({}).{}", phrase, vk_result_name(result), advice),
          ""};
}

}  // namespace tuff
