// How elements of each dtype lie in lane arrays and what they compute in. Only
// for the files compiled per level: everything is in an unnamed namespace, since
// the linker must never share an instance between levels.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ir/type.h"

namespace tuff::cpu {
namespace {

// f16 and bf16 conversions without branches, so that loops over them vectorise.
// Same values as ir/type.h's functions.
inline float float_from_half(uint16_t h) {
  uint32_t magnitude = h & 0x7fffu;
  uint32_t normal = (magnitude << 13) + 0x38000000u;
  uint32_t special = (magnitude << 13) + 0x70000000u;
  uint32_t tiny =
      std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  uint32_t bits = magnitude < 0x400u ? tiny : normal;
  bits = magnitude >= 0x7c00u ? special : bits;
  return std::bit_cast<float>(bits | static_cast<uint32_t>(h & 0x8000u) << 16);
}

inline uint16_t half_from_float(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  uint32_t magnitude = u & 0x7fffffffu;
  uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // The unit of 0.5f is f16's least denormal, so this addition rounds to it.
  uint32_t small = magnitude < 0x38800000u ? magnitude : 0u;
  uint32_t tiny = std::bit_cast<uint32_t>(std::bit_cast<float>(small) + 0.5f) - 0x3f000000u;
  uint32_t bits = magnitude < 0x38800000u ? tiny : normal;
  bits = magnitude >= 0x47800000u ? 0x7c00u : bits;
  bits = magnitude > 0x7f800000u ? (0x7e00u | ((magnitude >> 13) & 0x3ffu)) : bits;
  return static_cast<uint16_t>(bits | ((u >> 16) & 0x8000u));
}

inline float float_from_bfloat(uint16_t b) {
  return std::bit_cast<float>(static_cast<uint32_t>(b) << 16);
}

inline uint16_t bfloat_from_float(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  uint32_t nan = (u >> 16) | 0x40u;
  return static_cast<uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

// Storage: one element of a lane array. T, UT, ST, kBits: what op.def's bodies
// name T, UT, ST and W.
template <typename StorageT, typename ComputeT, typename UnsignedT, typename SignedT>
struct PlainElement {
  using Storage = StorageT;
  using T = ComputeT;
  using UT = UnsignedT;
  using ST = SignedT;
  static constexpr int kBits = 8 * sizeof(StorageT);
  static T widen(Storage x) { return static_cast<T>(x); }
  // Wraps narrow integers.
  static Storage narrow(T x) { return static_cast<Storage>(x); }
};

template <DType dtype>
struct Element;
template <>
struct Element<DType::kI8> : PlainElement<int8_t, int32_t, uint32_t, int32_t> {};
template <>
struct Element<DType::kI16> : PlainElement<int16_t, int32_t, uint32_t, int32_t> {};
template <>
struct Element<DType::kI32> : PlainElement<int32_t, int32_t, uint32_t, int32_t> {};
template <>
struct Element<DType::kI64> : PlainElement<int64_t, int64_t, uint64_t, int64_t> {};
template <>
struct Element<DType::kU8> : PlainElement<uint8_t, uint32_t, uint32_t, int32_t> {};
template <>
struct Element<DType::kU16> : PlainElement<uint16_t, uint32_t, uint32_t, int32_t> {};
template <>
struct Element<DType::kU32> : PlainElement<uint32_t, uint32_t, uint32_t, int32_t> {};
template <>
struct Element<DType::kU64> : PlainElement<uint64_t, uint64_t, uint64_t, int64_t> {};
template <>
struct Element<DType::kF32> : PlainElement<float, float, uint32_t, int32_t> {};
template <>
struct Element<DType::kF64> : PlainElement<double, double, uint64_t, int64_t> {};
template <>
struct Element<DType::kF16> : PlainElement<uint16_t, float, uint32_t, int32_t> {
  static float widen(uint16_t x) { return float_from_half(x); }
  static uint16_t narrow(float x) { return half_from_float(x); }
};
template <>
struct Element<DType::kBF16> : PlainElement<uint16_t, float, uint32_t, int32_t> {
  static float widen(uint16_t x) { return float_from_bfloat(x); }
  static uint16_t narrow(float x) { return bfloat_from_float(x); }
};
template <>
struct Element<DType::kBool> : PlainElement<uint8_t, bool, uint32_t, int32_t> {
  static bool widen(uint8_t x) { return x != 0; }
  static uint8_t narrow(bool x) { return x ? 1 : 0; }
};

}  // namespace
}  // namespace tuff::cpu
