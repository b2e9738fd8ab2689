// Vectors of floats, as wide as the level that a file is compiled for has them. After level.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "backend/cpu/lanes/level.h"

namespace tuff::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

constexpr int64_t kFetched = 16;  // floats of a cache line

using Vector = float __attribute__((vector_size(4 * kLanes)));
// The same anywhere in memory.
using Unaligned = float __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

TUFF_INLINE Vector load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }
TUFF_INLINE void store(float* to, Vector value) { *reinterpret_cast<Unaligned*>(to) = value; }

// The first `count` lanes; kWhole: all of them.
template <bool kWhole>
TUFF_INLINE Vector load_first(const float* from, int64_t count) {
  if (kWhole || count >= kLanes) return load(from);
  Vector value{};
  std::memcpy(&value, from, static_cast<size_t>(count) * sizeof(float));
  return value;
}
template <bool kWhole>
TUFF_INLINE void store_first(float* to, Vector value, int64_t count) {
  if (kWhole || count >= kLanes)
    store(to, value);
  else
    std::memcpy(to, &value, static_cast<size_t>(count) * sizeof(float));
}

}  // namespace
}  // namespace tuff::cpu
