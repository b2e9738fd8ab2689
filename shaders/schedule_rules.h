// What the choices of all schedules are made of.
#pragma once

#include <cstdint>

#include "ir/caps.h"

namespace tuff {

int64_t power_of_two_at_least(int64_t n);
int64_t ceil_div(int64_t a, int64_t b);
// The largest divisor of n among [low, high]; else `high`.
int64_t divisor_or(int64_t n, int64_t low, int64_t high);
// Lanes a device likes for independent work.
int64_t preferred_lanes(const Caps& caps);

}  // namespace tuff
