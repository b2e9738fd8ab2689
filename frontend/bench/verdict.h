// What the numbers of two systems say about each other.
#pragma once

#include <string>

#include "frontend/bench/contender.h"

namespace tuff::bench {

// Adds to the contender's entry: ratio, first_ratio, break_even and, where the
// baseline is JAX and the ratio is far from the published one, published. Both have
// bursts of the same rounds.
void compare_steady(Contender& contender, Contender& baseline, const Json& published,
                    const std::string& workload);

}  // namespace tuff::bench
