#include "frontend/pjrt/open_device.h"

namespace tuff::pjrt {

Result<std::unique_ptr<Device>> open_device(const cli::DeviceChoice& choice) {
  return cli::open_device(choice);
}

}  // namespace tuff::pjrt
