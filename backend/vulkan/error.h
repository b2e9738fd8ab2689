// VkResult, wrapped at the call with a phrase.
#pragma once

#include <string>

#include "backend/vulkan/instance/loader.h"

namespace tuff {

// "VK_ERROR_DEVICE_LOST"; unknown codes by number.
std::string vk_result_name(VkResult result);

// "Vulkan fails to <phrase> (VK_ERROR_...)", with the code the failure belongs to.
Error vk_error(VkResult result, const std::string& phrase);

}  // namespace tuff

// Returns an Error unless the call gives VK_SUCCESS. The phrase completes
// "Vulkan fails to ...".
#define TUFF_VK_RETURN_IF_ERROR(call, phrase)                           \
  do {                                                                  \
    if (VkResult tuff_vk_result = (call); tuff_vk_result != VK_SUCCESS) \
      return ::tuff::vk_error(tuff_vk_result, (phrase));                \
  } while (false)
