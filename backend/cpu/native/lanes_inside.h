// Serial loops of lanes turned inside out: each step is one of all lanes.
//
// Code takes a vector of lanes through all of a lane loop's body before the next. Where a lane
// walks far, memory is then read in columns; turned, it is read in its order.
#pragma once

#include <optional>

#include "shaders/kernel/kernel.h"

namespace tuff::cpu::native {

// What is cheap is computed again in each part that the body falls into, so values may be defined
// several times, each time the same; what is not is kept in arrays of the lanes. Nothing where a
// part needs a word of another one's, or lanes walk each as far as they want.
std::optional<Kernel> with_lanes_inside(const Kernel& kernel);

}  // namespace tuff::cpu::native
