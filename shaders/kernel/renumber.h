// Canonical names: equal work gives equal text.
#pragma once

#include <cstdint>
#include <vector>

#include "shaders/kernel/kernel.h"

namespace tuff {

// Numbers values and parameters in order of first appearance; drops lets and
// parameters nobody uses. Buffers keep their numbers. Returns the parameter
// values in the new order.
std::vector<int32_t> renumber(Kernel& kernel, const std::vector<int32_t>& params);

}  // namespace tuff
