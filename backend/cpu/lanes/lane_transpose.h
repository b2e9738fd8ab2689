// Transposition of as many vectors as each has lanes, or a part of so many. After level.h.
#pragma once

#include <cstddef>
#include <utility>

#include "backend/cpu/lanes/lane_vector.h"

namespace tuff::cpu {
namespace {

// One step of a transposition: exchanges the odd blocks of kStep lanes of a with b's even ones.
template <int kStep, typename V, int... kLane>
TUFF_INLINE void exchange(V& a, V& b, std::integer_sequence<int, kLane...>) {
  constexpr int kCount = sizeof...(kLane);
  constexpr auto odd = [](int lane) { return (lane & kStep) != 0; };
  V even = __builtin_shufflevector(a, b, (odd(kLane) ? kCount + kLane - kStep : kLane)...);
  b = __builtin_shufflevector(a, b, (odd(kLane) ? kCount + kLane : kLane + kStep)...);
  a = even;
}

template <int kStep, typename V, size_t kCount>
TUFF_INLINE void transpose_steps(V (&vectors)[kCount]) {
  constexpr int kLaneCount = sizeof(V) / sizeof(vectors[0][0]);
  for (size_t i = 0; i < kCount; ++i)
    if ((i & kStep) == 0)
      exchange<kStep>(vectors[i], vectors[i + kStep],
                      std::make_integer_sequence<int, kLaneCount>());
  if constexpr (kStep > 1) transpose_steps<kStep / 2>(vectors);
}

// vectors[i][j] becomes vectors[j][i]; so in each part of longer ones.
template <typename V, size_t kCount>
TUFF_INLINE void transpose(V (&vectors)[kCount]) {
  transpose_steps<static_cast<int>(kCount / 2)>(vectors);
}

// The lanes of a and then those of b.
template <typename Both, typename V, int... kLane>
TUFF_INLINE Both joined(V a, V b, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(a, b, kLane...);
}

}  // namespace
}  // namespace tuff::cpu
