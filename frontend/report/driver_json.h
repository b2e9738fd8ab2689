// What a driver says of a kernel, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "backend/driver_statistics.h"

namespace tuff {

// registers, spills, scratch_bytes, shared_bytes, occupancy, code_bytes, instructions: what the
// driver tells; the rest is left out.
nlohmann::ordered_json json_of_resources(const KernelResources& resources);

}  // namespace tuff
