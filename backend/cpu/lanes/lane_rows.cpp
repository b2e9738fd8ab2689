// Whole rows at once. Compiled once per processor level.
#include <cstring>

#include "backend/cpu/lanes/lane_exp.h"
#include "backend/cpu/lanes/lane_lines.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/level.h"

// See lane_compute.h.
#define prelude TUFF_LEVEL_FN(prelude)
#include "shaders/prelude/prelude.h"

namespace tuff::cpu {
namespace {

using prelude::t_rsqrt;
#undef prelude

// Partial results that every level keeps, whatever its vectors' width: the order of
// sums, and so their bits, are the same at each.
constexpr int64_t kPartials = 32;

// pick over all partial results: of each in the lower half and the one in the upper half, and
// so on. In registers of the size that all levels have; a loop over the array would wait for
// its own stores.
template <typename Pick>
TUFF_INLINE float fold(const float* partial, const Pick& pick) {
  using Vector = float __attribute__((vector_size(16)));
  Vector part[kPartials / 4];
  std::memcpy(part, partial, sizeof part);
  for (int64_t width = kPartials / 8; width > 0; width /= 2)
    for (int64_t j = 0; j < width; ++j) part[j] = pick(part[j], part[j + width]);
  Vector two = pick(part[0], __builtin_shufflevector(part[0], part[0], 2, 3, 2, 3));
  return pick(two, __builtin_shufflevector(two, two, 1, 1, 1, 1))[0];
}

// The maximum of elements that are not NaN.
float maximum(int64_t n, const float* x) {
  float partial[kPartials];
  for (float& p : partial) p = x[0];
  auto take = [&](int64_t i) {
#pragma omp simd
    for (int64_t j = 0; j < kPartials; ++j)
      partial[j] = x[i + j] > partial[j] ? x[i + j] : partial[j];
  };
  int64_t i = 0;
  for (; i + kPartials <= n; i += kPartials) take(i);
  if (i < n && n >= kPartials)
    take(n - kPartials);  // some of them again
  else
    for (; i < n; ++i) partial[0] = x[i] > partial[0] ? x[i] : partial[0];
  return fold(partial, [](const auto& a, const auto& b) { return b > a ? b : a; });
}

// The sum of y = term(x) for the n elements x of `in`; y is stored in `out` unless that is null.
template <typename Term>
TUFF_INLINE float sum_of(int64_t n, const float* in, float* out, const Term& term) {
  float partial[kPartials] = {};
  int64_t i = 0;
  for (; i + kPartials <= n; i += kPartials)
#pragma omp simd
    for (int64_t j = 0; j < kPartials; ++j) {
      float y = term(in[i + j]);
      if (out != nullptr) out[i + j] = y;
      partial[j] += y;
    }
  if (int64_t rest = n - i; rest > 0) {  // computed as a whole block, of elements there are
    float x[kPartials], y[kPartials];
    for (float& element : x) element = in[0];
    std::memcpy(x, in + i, static_cast<size_t>(rest) * sizeof(float));
#pragma omp simd
    for (int64_t j = 0; j < kPartials; ++j) {
      y[j] = term(x[j]);
      partial[j] += j < rest ? y[j] : 0.0f;
    }
    if (out != nullptr) std::memcpy(out + i, y, static_cast<size_t>(rest) * sizeof(float));
  }
  return fold(partial, [](const auto& a, const auto& b) { return a + b; });
}

// A NaN need not come through the maximum: it comes through the sum.
float exp_row(int64_t n, float* out, const float* in) {
  const float high = maximum(n, in);
  return sum_of(n, in, out, [=](float x) { return exp_not_above_0(x - high); });
}

void softmax_row(int64_t n, float* out, const float* in) {
  const float scale = 1.0f / exp_row(n, out, in);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = out[i] * scale;
}

void norm_row(const NormRows& norm, int64_t first) {
  const int64_t n = norm.n;
  const float *in = norm.in + first, *scale = norm.scale, *shift = norm.shift;
  float* out = norm.out + first;
  const auto count = static_cast<float>(n);
  const float mean =
      norm.centred ? sum_of(n, in, nullptr, [](float x) { return x; }) / count : 0.0f;
  const float squares = sum_of(n, in, nullptr, [=](float x) { return (x - mean) * (x - mean); });
  const float factor = t_rsqrt(squares / count + norm.epsilon);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    float y = (in[i] - mean) * factor;
    y = scale != nullptr ? y * scale[i] : y;
    out[i] = shift != nullptr ? y + shift[i] : y;
  }
}

// Rows this short have more to fold than to compute: kLines of them are computed side by side, each
// in a lane of its own.
constexpr int64_t kShortRow = 63, kLines = kBlockColumns<float>;

// body(block) on blocks of lines, which it changes in place.
template <typename Body>
TUFF_INLINE void for_each_block(int64_t rows, int64_t n, float* out, const float* in,
                                const Body& body) {
  alignas(64) float block[kShortRow * kLines];
  for (int64_t row = 0; row < rows; row += kLines) {
    const int64_t lines = std::min(kLines, rows - row);
    load_lines<float>(n, lines, in + row * n, n, block, nullptr);
    body(block);
    store_lines<float>(n, lines, 1, block, nullptr, out + row * n, n);
  }
}

// body(j) for the lines of a block.
template <typename Body>
TUFF_INLINE void for_each_line(const Body& body) {
#pragma omp simd
  for (int64_t j = 0; j < kLines; ++j) body(j);
}

void softmax_block(int64_t n, float* block) {
  float high[kLines], sum[kLines] = {};
  for_each_line([&](int64_t j) { high[j] = block[j]; });
  for (int64_t c = 1; c < n; ++c)
    for_each_line([&](int64_t j) {
      const float x = block[c * kLines + j];
      high[j] = x > high[j] ? x : high[j];
    });
  for (int64_t c = 0; c < n; ++c)
    for_each_line([&](int64_t j) {
      const float y = exp_not_above_0(block[c * kLines + j] - high[j]);
      block[c * kLines + j] = y;
      sum[j] += y;
    });
  for_each_line([&](int64_t j) { sum[j] = 1.0f / sum[j]; });
  for (int64_t c = 0; c < n; ++c)
    for_each_line([&](int64_t j) { block[c * kLines + j] *= sum[j]; });
}

void softmax_rows(int64_t rows, int64_t n, float* out, const float* in) {
  if (n <= kShortRow)
    return for_each_block(rows, n, out, in, [=](float* block) { softmax_block(n, block); });
  for (int64_t row = 0; row < rows; ++row) softmax_row(n, out + row * n, in + row * n);
}

void norm_block(int64_t n, float* block, const NormRows& norm) {
  const auto count = static_cast<float>(n);
  float mean[kLines] = {}, factor[kLines] = {};
  for (int64_t c = 0; norm.centred && c < n; ++c)
    for_each_line([&](int64_t j) { mean[j] += block[c * kLines + j]; });
  for_each_line([&](int64_t j) { mean[j] = mean[j] / count; });
  for (int64_t c = 0; c < n; ++c)
    for_each_line([&](int64_t j) {
      const float x = block[c * kLines + j] - mean[j];
      factor[j] += x * x;
    });
  for_each_line([&](int64_t j) { factor[j] = t_rsqrt(factor[j] / count + norm.epsilon); });
  for (int64_t c = 0; c < n; ++c) {
    const float scale = norm.scale != nullptr ? norm.scale[c] : 1.0f;
    const float shift = norm.shift != nullptr ? norm.shift[c] : -0.0f;
    for_each_line([&](int64_t j) {
      float& x = block[c * kLines + j];
      x = (x - mean[j]) * factor[j] * scale + shift;
    });
  }
}

void norm_rows(int64_t rows, const NormRows& norm) {
  const int64_t n = norm.n;
  if (n <= kShortRow)
    return for_each_block(rows, n, norm.out, norm.in,
                          [&](float* block) { norm_block(n, block, norm); });
  for (int64_t row = 0; row < rows; ++row) norm_row(norm, row * n);
}

// Four at a time: the row is loaded and stored once for them.
void take_off(int64_t n, double* row, int64_t count, const double* factors, const double* known,
              int64_t step) {
  for (; count >= 4; count -= 4, factors += 4, known += 4 * step) {
    const double f0 = factors[0], f1 = factors[1], f2 = factors[2], f3 = factors[3];
    const double *k1 = known + step, *k2 = k1 + step, *k3 = k2 + step;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      row[i] = row[i] - f0 * known[i] - f1 * k1[i] - f2 * k2[i] - f3 * k3[i];
  }
  for (; count > 0; --count, ++factors, known += step) {
    const double factor = *factors;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) row[i] -= factor * known[i];
  }
}

// A tile of the rows stays in registers while the known ones go by.
void take_off_rows(int64_t n, double* rows, int64_t row_step, int64_t count, const double* factors,
                   int64_t factor_row, int64_t factor_step, const double* known, int64_t step) {
  constexpr int kRows = LaneTable::kTakenOffRows, kAcross = 2;
  constexpr int64_t kDoubles = kLanes / 2, kTile = kAcross * kDoubles;
  using Doubles = double __attribute__((vector_size(8 * kDoubles), aligned(8), may_alias));
  int64_t c = 0;
  for (; c + kTile <= n; c += kTile) {
    Doubles tile[kRows][kAcross];
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kAcross; ++v)
        tile[r][v] = *reinterpret_cast<const Doubles*>(rows + r * row_step + c + v * kDoubles);
    for (int64_t k = 0; k < count; ++k)
      for (int r = 0; r < kRows; ++r)
        for (int v = 0; v < kAcross; ++v)
          tile[r][v] -= factors[r * factor_row + k * factor_step] *
                        *reinterpret_cast<const Doubles*>(known + k * step + c + v * kDoubles);
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kAcross; ++v)
        *reinterpret_cast<Doubles*>(rows + r * row_step + c + v * kDoubles) = tile[r][v];
  }
  for (int r = 0; r < kRows; ++r)
    for (int64_t k = 0; k < count; ++k)
      take_off(n - c, rows + r * row_step + c, 1, factors + r * factor_row + k * factor_step,
               known + k * step + c, 0);
}

double dot(int64_t n, const double* a, const double* b) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

void TUFF_LEVEL_FN(fill_row_lanes)(LaneTable& table) {
  table.exp_row = exp_row;
  table.softmax_rows = softmax_rows;
  table.norm_rows = norm_rows;
  table.take_off = take_off;
  table.take_off_rows = take_off_rows;
  table.dot = dot;
}

}  // namespace tuff::cpu
