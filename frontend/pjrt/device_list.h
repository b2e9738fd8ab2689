// Which devices a client has: the option "device", or TUFF_DEVICE.
#pragma once

#include <string>
#include <vector>

#include "frontend/cli/device_choice.h"

namespace tuff::pjrt {

// `count` logical devices on one of the machine's.
struct DeviceGroup {
  cli::DeviceSpec spec;
  int count = 1;
};

// A list such as "auto", "cpu", "vulkan:1", "vulkan:0x8" (eight logical devices on one)
// or "vulkan:0,cpu". Errors: kUsage saying what is possible.
Result<std::vector<DeviceGroup>> parse_device_list(const std::string& text);

}  // namespace tuff::pjrt
