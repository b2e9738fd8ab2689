// The transforms of Winograd's minimal filtering F(m x m, 3 x 3), whose sums of products over
// input channels are matrix products: m * m results from (m + 2)^2 points of each.
// Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks (2016), section 4.1,
// with B, G and A as there for m = 2; for m = 4 see lane_winograd.cpp.
#pragma once

#include <cstdint>
#include <limits>

namespace tuff::cpu {

inline constexpr int64_t kWinogradWindow = 3;
inline constexpr int64_t kMaxWinogradTile = 4;  // m
inline constexpr int64_t kMaxWinogradSide =
    kMaxWinogradTile + kWinogradWindow - 1;  // of its source

// What becomes of the products of a tile: the inverse transform, and
// pixels[p][c] = min(max(it + addends[p][c] + shifts[c], least), most) for c < columns; NaN stays.
struct WinogradResult {
  int64_t columns = 0;
  const float* sums = nullptr;  // of point p from sums[p * step] on
  int64_t step = 0;
  float* const* pixels = nullptr;         // m * m rows of `columns`; null: the pixel is not there
  const float* const* addends = nullptr;  // for each pixel that is there; null: 0. May be `pixels`
  const float* shifts = nullptr;
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();
};

struct WinogradFns {
  // to[p * step + c] = (B^T d B)[p] for c < channels; d[p] = pixels[p][c], p over (m + 2)^2.
  // `next` are the pixels that will be asked for after these.
  void (*source)(int64_t channels, const float* const* pixels, const float* const* next, float* to,
                 int64_t step);
  // to[p * step + c] = (G g G^T)[p] for c < columns; g[t] = taps[t * tap_step + c], t over 9.
  void (*weights)(int64_t columns, const float* taps, int64_t tap_step, float* to, int64_t step);
  // (A^T m A) and what follows.
  void (*result)(const WinogradResult& result);
};

}  // namespace tuff::cpu
