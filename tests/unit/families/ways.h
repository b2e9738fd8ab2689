// A Vulkan device that takes itself for another: schedules and kernels for devices that are
// not here, on the driver that is.
#pragma once

#include <iosfwd>
#include <memory>
#include <vector>

#include "backend/device.h"

namespace tuff::test {

struct Way {
  const char* name;
  void (*change)(Caps& caps);  // never more than the device can do
};
void PrintTo(const Way& way, std::ostream* out);

// Other device classes, and devices that lack something.
const std::vector<Way>& other_ways();

// The first Vulkan device, so changed. Errors: as create_vulkan_device.
Result<std::unique_ptr<Device>> open_as(const Way& way);

}  // namespace tuff::test
