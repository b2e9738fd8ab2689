// The device of a choice, and the one place where tests put another around it.
#pragma once

#include "frontend/cli/device_choice.h"

namespace tuff::pjrt {

Result<std::unique_ptr<Device>> open_device(const cli::DeviceChoice& choice);

}  // namespace tuff::pjrt
