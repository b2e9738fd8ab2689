// In which order a loop's body computes what it carries on.
#pragma once

#include <vector>

#include "backend/plan/assemble.h"

namespace tuff {

// The body's items such that, where dependences allow it, everything that reads a carried
// value comes before what computes its next one, which may then take its place in memory.
// Otherwise as they were.
std::vector<const LoweredBlock::Item*> order_for_carries(const LoweredBlock& body);

}  // namespace tuff
