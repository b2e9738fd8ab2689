// Whole rows at once. Compiled once per processor level.
#include "backend/cpu/lane_table.h"
#include "backend/cpu/level.h"

// See lane_compute.h.
#define prelude TUFF_LEVEL_FN(prelude)
#include "shaders/prelude/prelude.h"

namespace tuff::cpu {
namespace {

using prelude::roundEven;
using prelude::t_exp_series;
using prelude::t_rsqrt;
using prelude::uintBitsToFloat;
#undef prelude

// Partial results that every level keeps, whatever its vectors' width: the order of
// sums, and so their bits, are the same at each.
constexpr int64_t kPartials = 32;

float maximum(int64_t n, const float* x) {
  float partial[kPartials];
  for (float& p : partial) p = x[0];
  int64_t i = 0;
  for (; i + kPartials <= n; i += kPartials)
#pragma omp simd
    for (int64_t j = 0; j < kPartials; ++j)
      partial[j] = x[i + j] > partial[j] ? x[i + j] : partial[j];
  for (; i < n; ++i) partial[0] = x[i] > partial[0] ? x[i] : partial[0];
  for (int64_t width = kPartials / 2; width > 0; width /= 2)
    for (int64_t j = 0; j < width; ++j)
      partial[j] = partial[j + width] > partial[j] ? partial[j + width] : partial[j];
  return partial[0];
}

// t_exp for x <= 0 or NaN, but 0 where it would be denormal: next to a sum of at least 1
// that is nothing.
TUFF_INLINE float exp_not_above_0(float x) {
  constexpr float kLowest = -87.33654f;  // the logarithm of the least normal number
  float c = x < kLowest ? kLowest : x;
  float n = roundEven(c * 1.44269504f);
  float r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f + (r + (r * r) * t_exp_series(r));
  float y = p * uintBitsToFloat(static_cast<uint32_t>(static_cast<int32_t>(n) + 127) << 23);
  return x < kLowest ? 0.0f : y;
}

// The sum of term(i) for i < n.
template <typename Term>
TUFF_INLINE float sum_of(int64_t n, const Term& term) {
  float partial[kPartials] = {};
  int64_t i = 0;
  for (; i + kPartials <= n; i += kPartials)
#pragma omp simd
    for (int64_t j = 0; j < kPartials; ++j) partial[j] += term(i + j);
#pragma omp simd
  for (int64_t j = 0; j < n - i; ++j) partial[j] += term(i + j);
  for (int64_t width = kPartials / 2; width > 0; width /= 2)
    for (int64_t j = 0; j < width; ++j) partial[j] += partial[j + width];
  return partial[0];
}

// A NaN need not come through the maximum: it comes through the sum.
float exp_row(int64_t n, float* out, const float* in) {
  const float high = maximum(n, in);
  return sum_of(n, [=](int64_t i) {
    float y = exp_not_above_0(in[i] - high);
    out[i] = y;
    return y;
  });
}

void softmax_row(int64_t n, float* out, const float* in) {
  const float scale = 1.0f / exp_row(n, out, in);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = out[i] * scale;
}

void layer_norm_row(int64_t n, float* out, const float* in, const float* scale, const float* shift,
                    float epsilon) {
  const auto count = static_cast<float>(n);
  const float mean = sum_of(n, [=](int64_t i) { return in[i]; }) / count;
  const float variance = sum_of(n,
                                [=](int64_t i) {
                                  float d = in[i] - mean;
                                  return d * d;
                                }) /
                         count;
  const float factor = t_rsqrt(variance + epsilon);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    float y = (in[i] - mean) * factor;
    y = scale != nullptr ? y * scale[i] : y;
    out[i] = shift != nullptr ? y + shift[i] : y;
  }
}

}  // namespace

void TUFF_LEVEL_FN(fill_row_lanes)(LaneTable& table) {
  table.exp_row = exp_row;
  table.softmax_row = softmax_row;
  table.layer_norm_row = layer_norm_row;
}

}  // namespace tuff::cpu
