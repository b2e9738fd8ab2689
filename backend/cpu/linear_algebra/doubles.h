// Matrices as doubles: what the factorisations compute in, whatever their element type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/type.h"

namespace tuff::cpu {

// Below this many multiply-adds a loop is not worth sharing among threads.
inline constexpr int64_t kParallelWork = 1 << 16;

// `count` elements of a float type at `data`, which may be unaligned, to and from
// doubles; stores round once to nearest even.
void load_doubles(DType dtype, const std::byte* data, int64_t count, double* values);
void store_doubles(DType dtype, const double* values, int64_t count, std::byte* data);

}  // namespace tuff::cpu
