// Transposition of as many vectors as each has lanes. After level.h.
#pragma once

#include <utility>

#include "backend/cpu/lanes/lane_vector.h"

namespace tuff::cpu {
namespace {

// One step of a transposition: exchanges the odd blocks of kStep lanes of a with b's even ones.
template <int kStep, int... kLane>
TUFF_INLINE void exchange(Vector& a, Vector& b, std::integer_sequence<int, kLane...>) {
  constexpr auto odd = [](int lane) { return (lane & kStep) != 0; };
  Vector even = __builtin_shufflevector(a, b, (odd(kLane) ? kLanes + kLane - kStep : kLane)...);
  b = __builtin_shufflevector(a, b, (odd(kLane) ? kLanes + kLane : kLane + kStep)...);
  a = even;
}

// vectors[i][j] becomes vectors[j][i].
template <int kStep = kLanes / 2>
TUFF_INLINE void transpose(Vector (&vectors)[kLanes]) {
  for (int i = 0; i < kLanes; ++i)
    if ((i & kStep) == 0)
      exchange<kStep>(vectors[i], vectors[i + kStep], std::make_integer_sequence<int, kLanes>());
  if constexpr (kStep > 1) transpose<kStep / 2>(vectors);
}

}  // namespace
}  // namespace tuff::cpu
