// Which parts a check has.
#pragma once

#include <optional>
#include <vector>

#include "frontend/check/check.h"

namespace tuff::check {

// What the parts that ran first have found out.
struct Found {
  std::string device;  // "vulkan:0"; empty: none is usable
  std::string why_not;
  bool software = false;
};
// From what `tuff devices --json` says of the device that the options ask for.
Found find_device(const Json& devices, const std::string& asked);

// Those that look for a device.
std::vector<Part> first_parts(const CheckOptions& options);
// Those that use it.
std::vector<Part> device_parts(const CheckOptions& options, const Found& found);

}  // namespace tuff::check
