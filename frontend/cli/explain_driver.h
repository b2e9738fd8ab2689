// tuff explain --after driver: what the device's driver made of each kernel.
#pragma once

#include <string>
#include <vector>

#include "frontend/session/device.h"
#include "ir/graph.h"

namespace tuff::cli {

struct DriverOptions {
  std::vector<std::string> disabled;
  std::string isa_directory;  // one KERNEL.isa a kernel is written there; empty: none
  bool json = false;
};

// Prints a table, or with json one object. A driver that tells nothing is one sentence and no
// error. Errors: kUsage where the device is none of Vulkan's.
Status explain_driver(const Graph& graph, const DeviceChoice& choice, const DriverOptions& options);

}  // namespace tuff::cli
