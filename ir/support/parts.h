// How sizes are divided into parts.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tuff {

// a / b, rounded up; a >= 0, b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The size of a part of about `wanted`, a multiple of `step`, that all of `size` is divided into.
constexpr int64_t even_part(int64_t size, int64_t wanted, int64_t step = 1) {
  int64_t parts = std::max<int64_t>(1, ceil_div(size, wanted));
  return std::max(ceil_div(ceil_div(size, parts), step), int64_t{1}) * step;
}

}  // namespace tuff
