// The exponential where its range is known. Only for the files compiled per level.
#pragma once

#include <cstdint>

#include "backend/cpu/lanes/level.h"

// See lane_compute.h.
#define prelude TUFF_LEVEL_FN(prelude)
#include "shaders/prelude/prelude.h"

namespace tuff::cpu {
namespace {

using prelude::roundEven;
using prelude::t_exp_series;
using prelude::uintBitsToFloat;
#undef prelude

// t_exp for x <= 0 or NaN, but 0 where it would be denormal: next to a sum of at least 1
// that is nothing.
TUFF_INLINE float exp_not_above_0(float x) {
  constexpr float kLowest = -87.33654f;  // the logarithm of the least normal number
  float c = x < kLowest ? kLowest : x;
  float n = roundEven(c * 1.44269504f);
  float r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f + (r + (r * r) * t_exp_series(r));
  float y = p * uintBitsToFloat(static_cast<uint32_t>(static_cast<int32_t>(n) + 127) << 23);
  return x < kLowest ? 0.0f : y;
}

}  // namespace
}  // namespace tuff::cpu
