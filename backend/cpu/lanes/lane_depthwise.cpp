// Convolutions of each channel by itself, channels side by side in vectors. Compiled once per
// processor level.
#include <algorithm>

#include "backend/cpu/convolution/depthwise_row.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/lane_vector.h"
#include "backend/cpu/lanes/level.h"

namespace tuff::cpu {
namespace {

// Vectors of channels side by side, and pixels that share their weights: enough sums to hide how
// long a multiply-add takes, in the registers that there are.
constexpr int kVectors = kLanes == 16 ? 4 : 2;
constexpr int kMostPixels = 8, kSomePixels = 4;

// The elements of a window, [first, last) of each of its rows.
struct Taps {
  int64_t first, last;
};

// kPixels results from pixel x on, of kCount vectors of channels from c on. `count`: of channels,
// where they are less than a vector.
template <bool kWhole, int kPixels, int kCount>
TUFF_INLINE void sum_pixels(const DepthwiseRow& r, int64_t x, int64_t c, int64_t count, Taps taps) {
  Vector sums[kPixels][kCount]{};
  const int64_t next = r.stride * r.step;
  for (int64_t y = 0; y < r.window_y; ++y) {
    if (r.rows[y] == nullptr) continue;
    const float* weights = r.weights + y * r.window_x * r.step + c;
    const int64_t left = x * r.stride - r.padding;
    for (int64_t t = taps.first; t < taps.last; ++t) {
      Vector weight[kCount];
      for (int v = 0; v < kCount; ++v)
        weight[v] = load_first<kWhole>(weights + t * r.step + v * kLanes, count);
      const float* pixel = r.rows[y] + (left + t * r.dilation) * r.step + c;
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p)
#pragma GCC unroll 4
        for (int v = 0; v < kCount; ++v)
          sums[p][v] += load_first<kWhole>(pixel + p * next + v * kLanes, count) * weight[v];
    }
  }
  const Vector least = Vector{} + r.least, most = Vector{} + r.most;
#pragma GCC unroll 4
  for (int v = 0; v < kCount; ++v) {
    Vector shift{};
    if (r.shifts != nullptr) shift = load_first<kWhole>(r.shifts + c + v * kLanes, count);
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
      Vector sum = sums[p][v];
      const int64_t at = (x + p) * r.step + c + v * kLanes;
      if (r.addend != nullptr) sum += load_first<kWhole>(r.addend + at, count);
      sum += shift;
      sum = sum < least ? least : sum;
      store_first<kWhole>(r.result + at, sum > most ? most : sum, count);
    }
  }
}

// The elements of pixel x's window that lie in the source.
TUFF_INLINE Taps taps_at(const DepthwiseRow& r, int64_t x) {
  const int64_t left = x * r.stride - r.padding, d = r.dilation;
  int64_t first = left >= 0 ? 0 : (-left + d - 1) / d;
  int64_t last = left >= r.width ? 0 : (r.width - 1 - left) / d + 1;
  return {std::min(first, r.window_x), std::min(last, r.window_x)};
}

template <bool kWhole, int kCount>
TUFF_INLINE void channels_of_row(const DepthwiseRow& r, int64_t c, int64_t count) {
  constexpr int kPixels = kCount > 1 ? kSomePixels : kMostPixels;
  // Windows of pixels in [inner, outer) lie in the source.
  const int64_t reach = r.width - 1 - (r.window_x - 1) * r.dilation + r.padding;
  const int64_t inner = std::min((r.padding + r.stride - 1) / r.stride, r.results);
  const int64_t outer = std::clamp(reach < 0 ? 0 : reach / r.stride + 1, inner, r.results);
  const Taps all{0, r.window_x};
  int64_t x = 0;
  for (; x < inner; ++x) sum_pixels<kWhole, 1, kCount>(r, x, c, count, taps_at(r, x));
  for (; x + kPixels <= outer; x += kPixels)
    sum_pixels<kWhole, kPixels, kCount>(r, x, c, count, all);
  if (kPixels > kSomePixels)
    for (; x + kSomePixels <= outer; x += kSomePixels)
      sum_pixels<kWhole, kSomePixels, kCount>(r, x, c, count, all);
  // Some once more, unless these have been added to already.
  if (x < outer && outer - inner >= kSomePixels && r.addend == nullptr) {
    sum_pixels<kWhole, kSomePixels, kCount>(r, outer - kSomePixels, c, count, all);
    x = outer;
  }
  for (; x < outer; ++x) sum_pixels<kWhole, 1, kCount>(r, x, c, count, all);
  for (; x < r.results; ++x) sum_pixels<kWhole, 1, kCount>(r, x, c, count, taps_at(r, x));
}

void depthwise_row(const DepthwiseRow& r) {
  int64_t c = 0;
  for (; c + kVectors * kLanes <= r.channels; c += kVectors * kLanes)
    channels_of_row<true, kVectors>(r, c, kLanes);
  for (; c + kLanes <= r.channels; c += kLanes) channels_of_row<true, 1>(r, c, kLanes);
  if (c == r.channels) return;
  // Some once more, unless these have been added to already.
  if (r.channels >= kLanes && r.addend == nullptr)
    channels_of_row<true, 1>(r, r.channels - kLanes, kLanes);
  else
    channels_of_row<false, 1>(r, c, r.channels - c);
}

}  // namespace

void TUFF_LEVEL_FN(fill_depthwise_lanes)(LaneTable& table) { table.depthwise_row = depthwise_row; }

}  // namespace tuff::cpu
