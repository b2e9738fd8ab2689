#include "backend/vulkan/instance/validation.h"

#include <atomic>
#include <cstdio>

#include "backend/vulkan/vulkan.h"

namespace tuff {

namespace {

std::atomic<int64_t> errors{0};
std::atomic<int64_t> warnings{0};
constexpr int64_t kMaxPrinted = 20;  // one mistake in a loop must not flood the log

VKAPI_ATTR VkBool32 VKAPI_CALL listen(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                      VkDebugUtilsMessageTypeFlagsEXT,
                                      const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  bool error = (severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) != 0;
  int64_t count = error ? ++errors : ++warnings;
  if (count <= kMaxPrinted)
    std::fprintf(stderr, "tuff: Vulkan validation %s: %s\n", error ? "error" : "warning",
                 data->pMessage);
  return VK_FALSE;
}

}  // namespace

int64_t validation_errors() { return errors; }
int64_t validation_warnings() { return warnings; }

// Validation messages only: as "general" the loader reports drivers that do not
// open, which is no mistake of ours.
VkDebugUtilsMessengerCreateInfoEXT validation_messenger_info() {
  return {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
          .pNext = nullptr,
          .flags = 0,
          .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT |
                             VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
          .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
          .pfnUserCallback = listen,
          .pUserData = nullptr};
}

}  // namespace tuff
