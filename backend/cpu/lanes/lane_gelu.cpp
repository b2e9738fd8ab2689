// What follows a product, in registers' width. Compiled once per processor level; contracted to
// fused multiply-adds where the level has them, so that levels agree but for the last bits.
#include <cmath>

#include "backend/cpu/lanes/lane_exp.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/level.h"

// See lane_compute.h.
#define prelude TUFF_LEVEL_FN(prelude)
#include "shaders/prelude/prelude.h"

namespace tuff::cpu {
namespace {

using prelude::t_erf;
using prelude::t_tanh;
#undef prelude

// f of each element. The rows are in one call, so that the constants of f stay in registers.
template <typename F>
TUFF_INLINE void map_rows(int64_t rows, int64_t n, float* x, int64_t step, const F& f) {
  for (int64_t r = 0; r < rows; ++r, x += step)
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) x[i] = f(x[i]);
}

// Source of both: Hendrycks and Gimpel, Gaussian Error Linear Units (2016), section 2.
void gelu_erf(int64_t rows, int64_t n, float* x, int64_t step) {
  map_rows(rows, n, x, step, [](float x) { return 0.5f * x * (1.0f + t_erf(x * 0.70710678f)); });
}

void gelu_tanh(int64_t rows, int64_t n, float* x, int64_t step) {
  map_rows(rows, n, x, step, [](float x) {
    return 0.5f * x * (1.0f + t_tanh(0.7978846f * (x + 0.044715f * (x * x * x))));
  });
}

// x * logistic(x), with 0 for a logistic below the least normal number. A NaN stays one on the
// way.
TUFF_INLINE float silu_of(float x) {
  const float e = exp_not_above_0(-std::fabs(x)), d = 1.0f + e;
  return x * ((x < 0.0f ? e : 1.0f) / d);
}

void silu(int64_t rows, int64_t n, float* x, int64_t step) { map_rows(rows, n, x, step, silu_of); }

// A NaN fails both comparisons.
void hard_swish(int64_t rows, int64_t n, float* x, int64_t step) {
  map_rows(rows, n, x, step, [](float x) {
    float gate = x * (1.0f / 6.0f) + 0.5f;
    gate = gate < 0.0f ? 0.0f : gate;
    return x * (gate > 1.0f ? 1.0f : gate);
  });
}

}  // namespace

void TUFF_LEVEL_FN(fill_gelu_lanes)(LaneTable& table) {
  table.gelu_erf = gelu_erf;
  table.gelu_tanh = gelu_tanh;
  table.silu = silu;
  table.hard_swish = hard_swish;
}

}  // namespace tuff::cpu
