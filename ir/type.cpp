#include "ir/type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tuff {

namespace {

struct DTypeRow {
  const char* name;
  int64_t size;
  int bits = static_cast<int>(size) * 8;
};

constexpr DTypeRow kDTypes[kNumElementTypes] = {
    {"i1", 1},          {"i8", 1},           {"i16", 2},           {"i32", 4},
    {"i64", 8},         {"ui8", 1},          {"ui16", 2},          {"ui32", 4},
    {"ui64", 8},        {"f16", 2},          {"bf16", 2},          {"f32", 4},
    {"f64", 8},         {"complex<f32>", 8}, {"complex<f64>", 16}, {"f8E4M3FN", 1},
    {"f8E4M3FNUZ", 1},  {"f8E5M2", 1},       {"f8E5M2FNUZ", 1},    {"f8E8M0FNU", 1},
    {"f4E2M1FN", 1, 4}, {"f8E4M3", 1},       {"f8E3M4", 1},        {"f8E4M3B11FNUZ", 1},
    {"i4", 1, 4},       {"i2", 1, 2},        {"ui4", 1, 4},        {"ui2", 1, 2}};

}  // namespace

const char* dtype_name(DType dtype) { return kDTypes[static_cast<int>(dtype)].name; }
int64_t dtype_size(DType dtype) { return kDTypes[static_cast<int>(dtype)].size; }
int dtype_bits(DType dtype) { return kDTypes[static_cast<int>(dtype)].bits; }

Result<DType> parse_element_type(std::string_view name) {
  for (int i = kNumDTypes; i < kNumElementTypes; ++i)
    if (name == kDTypes[i].name) return static_cast<DType>(i);
  return parse_dtype(name);
}

Result<DType> parse_dtype(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (name == kDTypes[i].name) return static_cast<DType>(i);
  return Error{ErrorCode::kUnsupported,
               "Element type (" + std::string(name) +
                   ") is not supported; use i1, i8..i64, "
                   "ui8..ui64, f16, bf16, f32 or f64.",
               ""};
}

int64_t num_elements(const Shape& shape) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}

Result<int64_t> checked_num_elements(const Shape& shape) {
  // Leaves room for 8-byte elements in an int64 byte count.
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max() / 16;
  int64_t n = 1;
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0)
      return Error{ErrorCode::kBadInput, "A dimension (" + std::to_string(size) + ") is negative.",
                   ""};
    empty |= size == 0;
    if (size > 0 && n > kMax / size)
      return Error{ErrorCode::kBadInput, "A shape has too many elements for 64 bits.", ""};
    n *= size > 0 ? size : 1;
  }
  return empty ? int64_t{0} : n;
}

std::vector<int64_t> row_major_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

std::string TensorType::to_string() const {
  std::string text;
  for (int64_t size : shape) text += std::to_string(size) + "x";
  return text + dtype_name(dtype);
}

TensorType as_parts(const TensorType& type) {
  if (is_small(type.dtype))
    return {is_signed_int(type.dtype) ? DType::kI8 : DType::kU8, type.shape};
  if (!is_complex(type.dtype)) return type;
  TensorType parts{type.dtype == DType::kC64 ? DType::kF32 : DType::kF64, type.shape};
  parts.shape.push_back(2);
  return parts;
}

TensorType from_parts(const TensorType& parts, DType dtype) {
  TensorType type{dtype, parts.shape};
  if (is_complex(dtype) && parts.rank() > 0) type.shape.pop_back();
  TUFF_CHECK(as_parts(type) == parts,
             std::string("no tensor of ") + dtype_name(dtype) + " has parts " + parts.to_string());
  return type;
}

float f16_to_f32(uint16_t bits) {
  uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  uint32_t exponent = (bits >> 10) & 31, mantissa = bits & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  float subnormal = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(subnormal));
}

namespace {

// Rounds a double to a float format of `mantissa_bits` explicit bits and the
// exponent range [min_exponent, max_exponent], then packs it; one rounding.
uint16_t pack_16(double value, int mantissa_bits, int min_exponent, int max_exponent) {
  int exponent_bits = 15 - mantissa_bits;
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | infinity | 1 << (mantissa_bits - 1));
  double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return sign | infinity;
  int exponent = std::ilogb(magnitude);
  int unit = std::max(exponent, min_exponent) - mantissa_bits;   // weight of the last bit
  double scaled = std::nearbyint(std::ldexp(magnitude, -unit));  // exact scaling, then RNE
  double rounded = std::ldexp(scaled, unit);
  if (rounded >= std::ldexp(1.0, max_exponent + 1)) return sign | infinity;
  if (rounded < std::ldexp(1.0, min_exponent))
    return sign | static_cast<uint16_t>(std::ldexp(rounded, mantissa_bits - min_exponent));
  exponent = std::ilogb(rounded);
  auto mantissa = static_cast<uint16_t>(std::ldexp(rounded, mantissa_bits - exponent));
  mantissa &= static_cast<uint16_t>((1 << mantissa_bits) - 1);
  return static_cast<uint16_t>(sign | (exponent - min_exponent + 1) << mantissa_bits | mantissa);
}

}  // namespace

uint16_t f32_to_f16(float value) { return f64_to_f16(value); }
uint16_t f64_to_f16(double value) { return pack_16(value, 10, -14, 15); }

float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t f32_to_bf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

uint16_t f64_to_bf16(double value) { return pack_16(value, 7, -126, 127); }

}  // namespace tuff
