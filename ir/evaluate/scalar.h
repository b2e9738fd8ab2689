// Storage types of the evaluator: one C++ type per DType, so that overloads and
// templates can tell f16 from bf16 and bool from ui8.
//
// Two views of an element:
//   widen(x)     the value in the type that arithmetic runs in: float for the
//                16-bit floats, bool for Boolean, itself otherwise;
//   narrow<T>(v) the reverse with ONE rounding, from float or double.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "ir/type.h"

namespace tuff::eval {

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};
struct Boolean {
  uint8_t byte;
};

inline float widen(Half x) { return f16_to_f32(x.bits); }
inline float widen(Bfloat x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }
inline bool widen(Boolean x) { return x.byte != 0; }
template <typename T>
requires std::is_arithmetic_v<T>
inline T widen(T x) { return x; }

template <typename T>
using Compute = decltype(widen(T{}));

template <typename T>
inline constexpr bool kIsFloat = std::is_floating_point_v<Compute<T>>;
template <typename T>
inline constexpr bool kIsInteger = std::is_integral_v<T>;
template <typename T>
inline constexpr bool kIsBool = std::is_same_v<T, Boolean>;

// Where float results accumulate and transcendental functions run.
template <typename T>
using Wide = std::conditional_t<kIsFloat<T>, double, Compute<T>>;

// Drops the low bits of a double's mantissa, to nearest even. The carry may run
// into the exponent, which is the wanted result.
inline uint64_t round_mantissa(uint64_t bits, int dropped) {
  uint64_t half = uint64_t{1} << (dropped - 1);
  return (bits + (half - 1) + ((bits >> dropped) & 1)) >> dropped;
}

// The common case of double -> 16 bits: the result is a normal number. Anything
// else (zero, subnormal, overflow, NaN) takes the slow function.
inline Half half_from_double(double value) {
  uint64_t bits = std::bit_cast<uint64_t>(value), magnitude = bits & ~(uint64_t{1} << 63);
  if (magnitude < std::bit_cast<uint64_t>(0x1p-14) || magnitude >= std::bit_cast<uint64_t>(65504.0))
    return {f64_to_f16(value)};
  uint64_t rounded = round_mantissa(magnitude, 42) - (uint64_t{1023 - 15} << 10);
  return {static_cast<uint16_t>((bits >> 63) << 15 | rounded)};
}

inline Bfloat bfloat_from_double(double value) {
  uint64_t bits = std::bit_cast<uint64_t>(value), magnitude = bits & ~(uint64_t{1} << 63);
  if (magnitude < std::bit_cast<uint64_t>(0x1p-126) ||
      magnitude >= std::bit_cast<uint64_t>(0x1p127))
    return {f64_to_bf16(value)};
  uint64_t rounded = round_mantissa(magnitude, 45) - (uint64_t{1023 - 127} << 7);
  return {static_cast<uint16_t>((bits >> 63) << 15 | rounded)};
}

// V is Compute<T> or Wide<T>.
template <typename T, typename V>
inline T narrow(V value) {
  if constexpr (std::is_same_v<T, Half>)
    return half_from_double(static_cast<double>(value));
  else if constexpr (std::is_same_v<T, Bfloat>)
    return bfloat_from_double(static_cast<double>(value));
  else if constexpr (kIsBool<T>)
    return {static_cast<uint8_t>(value ? 1 : 0)};
  else
    return static_cast<T>(value);
}

template <typename T>
struct Tag {
  using type = T;
};

// Calls f(Tag<storage type>{}) for the element type.
template <typename F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool: return f(Tag<Boolean>{});
    case DType::kI8: return f(Tag<int8_t>{});
    case DType::kI16: return f(Tag<int16_t>{});
    case DType::kI32: return f(Tag<int32_t>{});
    case DType::kI64: return f(Tag<int64_t>{});
    case DType::kU8: return f(Tag<uint8_t>{});
    case DType::kU16: return f(Tag<uint16_t>{});
    case DType::kU32: return f(Tag<uint32_t>{});
    case DType::kU64: return f(Tag<uint64_t>{});
    case DType::kF16: return f(Tag<Half>{});
    case DType::kBF16: return f(Tag<Bfloat>{});
    case DType::kF32: return f(Tag<float>{});
    case DType::kF64: return f(Tag<double>{});
    default: break;
  }
  TUFF_CHECK(false, std::string("a graph has no elements of type ") + dtype_name(dtype));
  return f(Tag<double>{});
}

}  // namespace tuff::eval
