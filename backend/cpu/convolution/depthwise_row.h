// A row of results of a convolution of each channel by itself.
#pragma once

#include <cstdint>
#include <limits>

namespace tuff::cpu {

// result[x, c] = min(max(sum over y, t of rows[y][x * stride + t * dilation - padding, c] *
//                        weights[y * window_x + t, c] + addend[x, c] + shifts[c], least), most)
// in f32 for x < results and c < channels; nothing is added outside of a source row; NaN stays.
// Pixels of all rows, and rows of weights, are `step` apart.
struct DepthwiseRow {
  int64_t results = 0, channels = 0, step = 0;
  int64_t width = 0;  // pixels of a source row
  int64_t window_y = 1, window_x = 1, stride = 1, dilation = 1, padding = 0;
  const float* const* rows = nullptr;  // one for each y; null: outside of the source
  const float* weights = nullptr;
  const float* addend = nullptr;  // null: 0; may be result
  const float* shifts = nullptr;  // null: 0
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();
  float* result = nullptr;
};

}  // namespace tuff::cpu
