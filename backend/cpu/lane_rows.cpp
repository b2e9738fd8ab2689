// Whole rows at once. Compiled once per processor level.
#include "backend/cpu/lane_table.h"
#include "backend/cpu/level.h"

// See lane_compute.h.
#define prelude TUFF_LEVEL_FN(prelude)
#include "shaders/prelude/prelude.h"

namespace tuff::cpu {
namespace {

using prelude::t_exp;
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

float sum(int64_t n, const float* x) {
  float partial[kPartials] = {};
  int64_t i = 0;
  for (; i + kPartials <= n; i += kPartials)
#pragma omp simd
    for (int64_t j = 0; j < kPartials; ++j) partial[j] += x[i + j];
  for (int64_t j = 0; i < n; ++i, ++j) partial[j] += x[i];
  for (int64_t width = kPartials / 2; width > 0; width /= 2)
    for (int64_t j = 0; j < width; ++j) partial[j] += partial[j + width];
  return partial[0];
}

// A NaN need not come through the maximum: it comes through the sum.
void softmax_row(int64_t n, float* out, const float* in) {
  const float high = maximum(n, in);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = t_exp(in[i] - high);
  const float total = sum(n, out);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = out[i] / total;
}

}  // namespace

void TUFF_LEVEL_FN(fill_row_lanes)(LaneTable& table) { table.softmax_row = softmax_row; }

}  // namespace tuff::cpu
