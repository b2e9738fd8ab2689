// The device of a choice, and the one place where tests put another around it.
#pragma once

#include "frontend/session/device.h"

namespace tuff::pjrt {

Result<std::unique_ptr<Device>> open_device(const DeviceChoice& choice);

}  // namespace tuff::pjrt
