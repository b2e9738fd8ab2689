// What Vulkan's validation layers said, counted for the whole process.
#pragma once

#include "backend/vulkan/instance/loader.h"

namespace tuff {

// A messenger that counts and prints validation errors and warnings.
VkDebugUtilsMessengerCreateInfoEXT validation_messenger_info();

}  // namespace tuff
