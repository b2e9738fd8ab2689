#include "frontend/pjrt/open_device.h"

#include "frontend/pjrt/log.h"

namespace tuff::pjrt {

Result<std::unique_ptr<Device>> open_device(const DeviceChoice& choice) {
  return tuff::open_device(choice, {nullptr, log_warning});
}

}  // namespace tuff::pjrt
