// One result of reduce_window for rows of elements.
#pragma once

#include <cstdint>

namespace tuff::cpu {

enum class WindowFold : uint8_t { kAdd, kMultiply, kMaximum, kMinimum, kCount };

// to[c] = fold of sum[c] (or `initial`) and of from[offsets[t] + c], in the order of t < taps.
struct WindowRow {
  int64_t columns = 0, taps = 0;
  const float* from = nullptr;
  const int64_t* offsets = nullptr;
  const float* sum = nullptr;  // what there is so far; null: `initial`. May be `to`
  float initial = 0;
  float* to = nullptr;
};

}  // namespace tuff::cpu
