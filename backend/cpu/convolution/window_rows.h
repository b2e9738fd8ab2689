// Results of reduce_window for rows of elements.
#pragma once

#include <cstdint>

namespace tuff::cpu {

enum class WindowFold : uint8_t { kAdd, kMultiply, kMaximum, kMinimum, kCount };

// to[c] = fold of sum[c] (or `initial`) and of from[offsets[t] + c], in the order of t < taps; so
// for `results` rows of `to`, each of whose inputs lie `advance` elements behind those of the one
// before.
struct WindowRows {
  int64_t columns = 0, taps = 0, results = 1, advance = 0;
  const float* from = nullptr;
  const int64_t* offsets = nullptr;
  const float* sum = nullptr;  // what there is so far; null: `initial`. May be `to`
  float initial = 0;
  float* to = nullptr;
};

}  // namespace tuff::cpu
