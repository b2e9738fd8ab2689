// Element types and tensor types. A TensorType has no layout: layout exists
// only after the memory plan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/result.h"

namespace tuff {

enum class DType : uint8_t {
  kBool,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64,
  // Of what enters and leaves a program only: its graph has their parts (as_parts).
  kC64,
  kC128,
  // Small ones, also of what enters and leaves only: its graph has bytes (as_parts). The floats'
  // formats are in ir/small_float.h; an integer is the byte's value.
  kF8E4M3FN,
  kF8E4M3FNUZ,
  kF8E5M2,
  kF8E5M2FNUZ,
  kF8E8M0FNU,
  kF4E2M1FN,
  kF8E4M3,
  kF8E3M4,
  kF8E4M3B11FNUZ,
  kI4,
  kI2,
  kU4,
  kU2,
};
inline constexpr int kNumDTypes = 13;        // of a graph
inline constexpr int kNumElementTypes = 28;  // with the complex and the small ones

// MLIR's spelling, as in the text forms and in manifests: "i1", "ui8", "bf16" ...
const char* dtype_name(DType dtype);
// The reverse, of a graph's types; other names (f8E5M2, i4, complex<f32> ...) are kUnsupported.
Result<DType> parse_dtype(std::string_view name);
// The same with the complex and the small ones.
Result<DType> parse_element_type(std::string_view name);
// Bytes of one element on the host; bool and the small types are one byte.
int64_t dtype_size(DType dtype);
// Bits that say something: 4 of an f4E2M1FN or i4, 8 of a bool.
int dtype_bits(DType dtype);

inline bool is_complex(DType d) { return d == DType::kC64 || d == DType::kC128; }
inline bool is_small(DType d) { return d >= DType::kF8E4M3FN; }
inline bool is_small_float(DType d) { return is_small(d) && d <= DType::kF8E4M3B11FNUZ; }
inline bool is_float(DType d) {
  return (d >= DType::kF16 && d <= DType::kF64) || is_small_float(d);
}
inline bool is_signed_int(DType d) {
  return (d >= DType::kI8 && d <= DType::kI64) || d == DType::kI4 || d == DType::kI2;
}
inline bool is_unsigned_int(DType d) {
  return (d >= DType::kU8 && d <= DType::kU64) || d == DType::kU4 || d == DType::kU2;
}
inline bool is_integer(DType d) { return is_signed_int(d) || is_unsigned_int(d); }

using Shape = std::vector<int64_t>;

// Product of the sizes; 1 for rank 0. True iff every size is >= 0 and the
// product fits int64 (checked where shapes enter, see checked_num_elements).
int64_t num_elements(const Shape& shape);
// The same for untrusted shapes: an error instead of overflow or a negative size.
Result<int64_t> checked_num_elements(const Shape& shape);
// Row-major strides in elements; zero-sized and unit dimensions get the
// ordinary product.
std::vector<int64_t> row_major_strides(const Shape& shape);

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t num_elements() const { return tuff::num_elements(shape); }
  int64_t size_bytes() const { return num_elements() * dtype_size(dtype); }
  // "2x3xf32", "f32" for rank 0.
  std::string to_string() const;
  bool operator==(const TensorType&) const = default;
};

// What a graph has for a complex tensor: its real and its imaginary part as one more dimension,
// the last; and for a small one its bytes, ui8, or i8 of signed integers. The bytes are the same.
// Other types are what they are.
TensorType as_parts(const TensorType& type);
// The type with this element type that has these parts.
TensorType from_parts(const TensorType& parts, DType dtype);

// Bit conversions of the 16-bit floats, round to nearest even; NaN stays NaN.
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);
// double -> 16 bits with ONE rounding (through float would round twice).
uint16_t f64_to_f16(double value);
uint16_t f64_to_bf16(double value);

}  // namespace tuff
