// Convolutions of each channel by itself, channels side by side in vectors. Compiled once per
// processor level.
#include <algorithm>

#include "backend/cpu/convolution/depthwise_row.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/lane_vector.h"
#include "backend/cpu/lanes/level.h"

namespace tuff::cpu {
namespace {

// Pixels that share the loads of weights: enough sums to hide how long a multiply-add takes.
constexpr int kMostPixels = 8, kSomePixels = 4;

// The elements of a window, [first, last) of each of its rows.
struct Taps {
  int64_t first, last;
};

// kPixels results from pixel x on, of a vector of channels from c on.
template <bool kWhole, int kPixels>
TUFF_INLINE void sum_pixels(const DepthwiseRow& r, int64_t x, int64_t c, int64_t count, Taps taps) {
  Vector sums[kPixels]{};
  const int64_t next = r.stride * r.step;
  for (int64_t y = 0; y < r.window_y; ++y) {
    if (r.rows[y] == nullptr) continue;
    const float* weights = r.weights + y * r.window_x * r.step + c;
    const int64_t left = x * r.stride - r.padding;
    for (int64_t t = taps.first; t < taps.last; ++t) {
      Vector weight = load_first<kWhole>(weights + t * r.step, count);
      const float* pixel = r.rows[y] + (left + t * r.dilation) * r.step + c;
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p)
        sums[p] += load_first<kWhole>(pixel + p * next, count) * weight;
    }
  }
  Vector shift{};
  const Vector least = Vector{} + r.least, most = Vector{} + r.most;
  if (r.shifts != nullptr) shift = load_first<kWhole>(r.shifts + c, count);
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
    Vector sum = sums[p];
    const int64_t at = (x + p) * r.step + c;
    if (r.addend != nullptr) sum += load_first<kWhole>(r.addend + at, count);
    sum += shift;
    sum = sum < least ? least : sum;
    store_first<kWhole>(r.result + at, sum > most ? most : sum, count);
  }
}

// The elements of pixel x's window that lie in the source.
TUFF_INLINE Taps taps_at(const DepthwiseRow& r, int64_t x) {
  const int64_t left = x * r.stride - r.padding, d = r.dilation;
  int64_t first = left >= 0 ? 0 : (-left + d - 1) / d;
  int64_t last = left >= r.width ? 0 : (r.width - 1 - left) / d + 1;
  return {std::min(first, r.window_x), std::min(last, r.window_x)};
}

template <bool kWhole>
TUFF_INLINE void channels_of_row(const DepthwiseRow& r, int64_t c, int64_t count) {
  // Windows of pixels in [inner, outer) lie in the source.
  const int64_t reach = r.width - 1 - (r.window_x - 1) * r.dilation + r.padding;
  const int64_t inner = std::min((r.padding + r.stride - 1) / r.stride, r.results);
  const int64_t outer = std::clamp(reach < 0 ? 0 : reach / r.stride + 1, inner, r.results);
  const Taps all{0, r.window_x};
  int64_t x = 0;
  for (; x < inner; ++x) sum_pixels<kWhole, 1>(r, x, c, count, taps_at(r, x));
  for (; x + kMostPixels <= outer; x += kMostPixels)
    sum_pixels<kWhole, kMostPixels>(r, x, c, count, all);
  for (; x + kSomePixels <= outer; x += kSomePixels)
    sum_pixels<kWhole, kSomePixels>(r, x, c, count, all);
  // Some once more, unless these have been added to already.
  if (x < outer && outer - inner >= kSomePixels && r.addend == nullptr) {
    sum_pixels<kWhole, kSomePixels>(r, outer - kSomePixels, c, count, all);
    x = outer;
  }
  for (; x < outer; ++x) sum_pixels<kWhole, 1>(r, x, c, count, all);
  for (; x < r.results; ++x) sum_pixels<kWhole, 1>(r, x, c, count, taps_at(r, x));
}

void depthwise_row(const DepthwiseRow& r) {
  int64_t c = 0;
  for (; c + kLanes <= r.channels; c += kLanes) channels_of_row<true>(r, c, kLanes);
  if (c == r.channels) return;
  // Some once more, unless these have been added to already.
  if (r.channels >= kLanes && r.addend == nullptr)
    channels_of_row<true>(r, r.channels - kLanes, kLanes);
  else
    channels_of_row<false>(r, c, r.channels - c);
}

}  // namespace

void TUFF_LEVEL_FN(fill_depthwise_lanes)(LaneTable& table) { table.depthwise_row = depthwise_row; }

}  // namespace tuff::cpu
