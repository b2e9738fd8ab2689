// What the prelude's f32 functions are compared with; the bounds are those of tolerances.def.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ir/evaluate/tolerances.h"
#include "shaders/prelude/prelude.h"

namespace tuff::test {

// In ulp: the float that is nearest, and the number itself.
inline constexpr double kRounded = 0.5, kExact = 0;

struct UnaryRow {
  const char* name;
  float (*function)(float);
  double (*reference)(double);
  double max_ulp;  // over all floats
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
      ROW(exp, std::exp(x), op_ulp("exponential")),
      ROW(expm1, std::expm1(x), op_ulp("exponential_minus_one")),
      ROW(log, std::log(x), op_ulp("log")),
      ROW(log1p, std::log1p(x), op_ulp("log_plus_one")),
      ROW(logistic, (x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x))), op_ulp("logistic")),
      ROW(tanh, std::tanh(x), op_ulp("tanh")),
      ROW(erf, std::erf(x), op_ulp("erf")),
      ROW(sin, std::sin(x), op_ulp("sine")),
      ROW(cos, std::cos(x), op_ulp("cosine")),
      ROW(tan, std::tan(x), op_ulp("tan")),
      ROW(atan, std::atan(x), op_ulp("atan")),
      ROW(cbrt, std::cbrt(x), op_ulp("cbrt")),
      ROW(sqrt, std::sqrt(x), kRounded),
      ROW(sqrt_bits, std::sqrt(x), kRounded),
      ROW(rsqrt, 1 / std::sqrt(x), op_ulp("rsqrt")),
      ROW(round_afz, std::round(x), kExact),
      ROW(sign, (x > 0 ? 1.0 : x < 0 ? -1.0 : x), kExact),
  };
  return rows;
}
#undef ROW

#define ROW(name, reference, ulp) \
  {"t_" #name, [](float x, float y) { return prelude::t_##name(x, y); }, \
   [](double x, double y) -> double { return reference; }, ulp}
inline const std::vector<BinaryRow>& binary_rows() {
  static const std::vector<BinaryRow> rows = {
      ROW(pow, std::pow(x, y), op_ulp("power")),
      ROW(atan2, std::atan2(x, y), op_ulp("atan2")),
      ROW(div, x / y, kRounded),
      ROW(div_bits, x / y, kRounded),
      ROW(rem, std::fmod(x, y), kExact),
      ROW(rem_bits, std::fmod(x, y), kExact),
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
