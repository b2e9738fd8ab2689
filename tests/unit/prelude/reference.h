// What the prelude's f32 functions are compared with, and the ulp bounds they keep.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "shaders/prelude/prelude.h"

namespace tuff::test {

struct UnaryRow {
  const char* name;
  float (*function)(float);
  double (*reference)(double);
  double max_ulp;  // over all floats; a little above the measured
};

struct BinaryRow {
  const char* name;
  float (*function)(float, float);
  double (*reference)(double, double);
  double max_ulp;  // over random pairs
};

// clang-format off
#define ROW(name, reference, ulp) \
  {"t_" #name, [](float x) { return prelude::t_##name(x); }, [](double x) -> double { return reference; }, ulp}
inline const std::vector<UnaryRow>& unary_rows() {
  static const std::vector<UnaryRow> rows = {
      ROW(exp, std::exp(x), 1.1),
      ROW(expm1, std::expm1(x), 1.8),
      ROW(log, std::log(x), 1.0),
      ROW(log1p, std::log1p(x), 1.1),
      ROW(logistic, (x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x))), 3.0),
      ROW(tanh, std::tanh(x), 3.0),
      ROW(erf, std::erf(x), 1.6),
      ROW(sin, std::sin(x), 1.0),
      ROW(cos, std::cos(x), 1.0),
      ROW(tan, std::tan(x), 2.6),
      ROW(atan, std::atan(x), 1.8),
      ROW(cbrt, std::cbrt(x), 1.0),
      ROW(sqrt, std::sqrt(x), 0.5),
      ROW(sqrt_bits, std::sqrt(x), 0.5),
      ROW(rsqrt, 1 / std::sqrt(x), 1.6),
      ROW(round_afz, std::round(x), 0.0),
      ROW(sign, (x > 0 ? 1.0 : x < 0 ? -1.0 : x), 0.0),
  };
  return rows;
}
#undef ROW

#define ROW(name, reference, ulp) \
  {"t_" #name, [](float x, float y) { return prelude::t_##name(x, y); }, \
   [](double x, double y) -> double { return reference; }, ulp}
inline const std::vector<BinaryRow>& binary_rows() {
  static const std::vector<BinaryRow> rows = {
      ROW(pow, std::pow(x, y), 1.5),
      ROW(atan2, std::atan2(x, y), 2.0),
      ROW(div, x / y, 0.5),
      ROW(div_bits, x / y, 0.5),
      ROW(rem, std::fmod(x, y), 0.0),
      ROW(rem_bits, std::fmod(x, y), 0.0),
  };
  return rows;
}
#undef ROW
// clang-format on

// Distance in units of the last place of the float nearest to `want`; huge where a
// special value is wrong. A NaN is any NaN.
inline double ulp_error(float got, double want) {
  const float rounded = static_cast<float>(want);
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e30;
  if (std::isnan(got)) return 1e30;
  if (std::isinf(want) || (std::isinf(rounded) && rounded == got)) return rounded == got ? 0 : 1e30;
  if (want == 0 && got == 0) return std::signbit(want) == std::signbit(got) ? 0 : 1e30;
  int exponent = 0;
  std::frexp(want, &exponent);
  const double unit = std::ldexp(1.0, std::clamp(exponent - 24, -149, 104));
  const double value = std::isinf(got) ? std::copysign(std::ldexp(1.0, 128), got) : got;
  return std::fabs(value - want) / unit;
}

}  // namespace tuff::test
