// Divisions of indices in lanes, as our CPU executor's code has them.
#pragma once

#include <cstdint>
#include <span>

#include "shaders/kernel/kernel.h"

namespace tuff {

struct LaneDivisions {
  int64_t count = 0;
  // How many vectors of lanes, a power of two each, are taken together so that all divisors of
  // fewer lanes divide what is taken: where each begins is a number for the compiler then. 0: too
  // many, or a divisor is not known.
  int64_t together = 1;
};

LaneDivisions lane_divisions(const Kernel& kernel, std::span<const int32_t> params);

}  // namespace tuff
