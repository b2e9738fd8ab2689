// What an application that hands over its VkDevice has turned on of it.
#pragma once

#include "backend/vulkan/instance/snapshot.h"

namespace tuff {

// Leaves in the snapshot the features that the device was made with, and that queue family only.
// Extensions need no look: their features stand for them.
void narrow_to_given(const VkDeviceCreateInfo& made_with, uint32_t queue_family,
                     DeviceSnapshot& snapshot);

}  // namespace tuff
