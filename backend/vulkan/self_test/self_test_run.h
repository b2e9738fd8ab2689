// The self-test on a real device.
#pragma once

#include "backend/vulkan/device.h"
#include "backend/vulkan/self_test/self_test.h"

namespace tuff {

// Judges the device, which claims `claimed`. Leaves nothing behind, neither in its pipeline
// store nor in the disk cache, so that no model's statistics show it.
Result<SelfTestVerdict> run_self_test(VulkanDevice& device, const Caps& claimed);

}  // namespace tuff
