// The prelude as C++: the CPU computes with the very text the shaders contain.
//
// Everything is exact or a fixed sequence of IEEE sums and products, so the result
// does not depend on the instruction set: a kernel's translation unit may be built
// for any target (-mavx2 and so on), but never with -ffast-math, and with
// -ffp-contract=off. No function here uses fma. -fno-math-errno and
// -fno-trapping-math let gcc vectorise loops over more of them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tuff::prelude {

using uint = unsigned int;
using std::int64_t;
using std::uint64_t;

// Inlined even where large: a call would keep a loop from being vectorised.
#define T_FN inline __attribute__((always_inline))

// GLSL's builtins.
T_FN uint floatBitsToUint(float a) { return std::bit_cast<uint>(a); }
T_FN int floatBitsToInt(float a) { return std::bit_cast<int>(a); }
T_FN float uintBitsToFloat(uint a) { return std::bit_cast<float>(a); }
T_FN float intBitsToFloat(int a) { return std::bit_cast<float>(a); }
T_FN uint64_t doubleBitsToUint64(double a) { return std::bit_cast<uint64_t>(a); }
T_FN double uint64BitsToDouble(uint64_t a) { return std::bit_cast<double>(a); }
T_FN float abs(float a) { return __builtin_fabsf(a); }
T_FN double abs(double a) { return __builtin_fabs(a); }
T_FN float floor(float a) { return __builtin_floorf(a); }
T_FN double floor(double a) { return __builtin_floor(a); }
T_FN float ceil(float a) { return __builtin_ceilf(a); }
T_FN double ceil(double a) { return __builtin_ceil(a); }
T_FN float trunc(float a) { return __builtin_truncf(a); }
T_FN double trunc(double a) { return __builtin_trunc(a); }
// The rounding mode is never changed, so rint is to nearest even; unlike roundeven
// it is one instruction everywhere.
T_FN float roundEven(float a) { return __builtin_rintf(a); }
T_FN float sqrt(float a) { return __builtin_sqrtf(a); }
T_FN double sqrt(double a) { return __builtin_sqrt(a); }
// Only for kernels that ask for it: without -mfma it is a slow call.
T_FN float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
T_FN double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
T_FN void umulExtended(uint a, uint b, uint& high, uint& low) {
  const uint64_t p = static_cast<uint64_t>(a) * b;
  high = static_cast<uint>(p >> 32);
  low = static_cast<uint>(p);
}
T_FN void imulExtended(int a, int b, int& high, int& low) {
  const int64_t p = static_cast<int64_t>(a) * b;
  high = static_cast<int>(p >> 32);
  low = static_cast<int>(p);
}

// What the CPU rounds right by itself; shaders repair the device's (ieee.glsl).
T_FN float t_div(float a, float b) { return a / b; }
T_FN float t_sqrt(float a) { return __builtin_sqrtf(a); }
T_FN float t_rem(float a, float b) { return __builtin_fmodf(a, b); }
T_FN float t_rcp_1_2(float d) { return 1.0f / d; }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define precise
// Each file uses the ones above it.
// clang-format off
#include "shaders/prelude/int.glsl"
#include "shaders/prelude/float.glsl"
#include "shaders/prelude/ieee.glsl"
#include "shaders/prelude/exp_log.glsl"
#include "shaders/prelude/hyperbolic.glsl"
#include "shaders/prelude/erf.glsl"
#include "shaders/prelude/trig.glsl"
#include "shaders/prelude/power.glsl"
#include "shaders/prelude/bf16.glsl"
#include "shaders/prelude/f16_widen.glsl"
#include "shaders/prelude/f16_narrow.glsl"
#include "shaders/prelude/convert.glsl"
#include "shaders/prelude/int64.glsl"
#include "shaders/prelude/float64.glsl"
// clang-format on
#undef precise
#pragma GCC diagnostic pop

// f64 transcendentals run on the CPU only, so the C library's will do.
inline double t_exp(double a) { return std::exp(a); }
inline double t_expm1(double a) { return std::expm1(a); }
inline double t_log(double a) { return std::log(a); }
inline double t_log1p(double a) { return std::log1p(a); }
inline double t_logistic(double a) { return 1.0 / (1.0 + std::exp(-a)); }
inline double t_tanh(double a) { return std::tanh(a); }
inline double t_erf(double a) { return std::erf(a); }
inline double t_sin(double a) { return std::sin(a); }
inline double t_cos(double a) { return std::cos(a); }
inline double t_tan(double a) { return std::tan(a); }
inline double t_atan(double a) { return std::atan(a); }
inline double t_atan2(double a, double b) { return std::atan2(a, b); }
inline double t_cbrt(double a) { return std::cbrt(a); }
inline double t_pow(double a, double b) { return std::pow(a, b); }

// As the float version, for the double's 11 and 52 bits.
inline double t_reduce_precision(double a, int exponent_bits, int mantissa_bits) {
  const uint64_t u = doubleBitsToUint64(a);
  const uint64_t sign = u & (uint64_t{1} << 63);
  const int drop = mantissa_bits < 52 ? 52 - mantissa_bits : 0;
  const uint64_t unit = uint64_t{1} << drop;
  const uint64_t bias = drop == 0 ? 0 : (unit >> 1) - 1 + ((u >> drop) & 1);
  const uint64_t rounded = (u + bias) & ~(unit - 1);
  const int exponent = static_cast<int>((rounded >> 52) & 0x7ff);
  const int top = (1 << (exponent_bits - 1)) - 1;
  if (t_is_nan(a))
    return mantissa_bits > 0 ? a : uint64BitsToDouble(sign | (uint64_t{0x7ff} << 52));
  if (exponent_bits < 11 && exponent > 1023 + top) {
    return uint64BitsToDouble(sign | (uint64_t{0x7ff} << 52));
  }
  if (exponent_bits < 11 && exponent <= 1023 - top) return uint64BitsToDouble(sign);
  return uint64BitsToDouble(rounded);
}

#undef T_FN

}  // namespace tuff::prelude
