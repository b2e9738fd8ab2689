// Floats of 8 and 4 bits: the formats of OCP FP8 and OCP MX and their kin, each in a byte. What
// enters and leaves a program may have them; a graph has their bytes (as_parts) and converts them
// by integer arithmetic on the bits of f32, which is elementwise and the same on every device.
#pragma once

#include <cstdint>
#include <string>

#include "ir/graph.h"

namespace tuff {

// Of all but f8E8M0FNU, which has no sign, no mantissa and no zero: its byte is a power of two.
// Codes are a byte's value: the sign, if any, above the exponent and the mantissa.
struct SmallFloat {
  int bits;
  int mantissa_bits;
  int bias;
  uint8_t largest;   // the finite number of most magnitude
  uint8_t infinity;  // 0: there is none
  uint8_t overflow;  // what is beyond the largest becomes
  uint8_t nan;       // what NaN becomes, where its sign is not set
  bool has_minus_zero;

  uint8_t sign_bit() const { return static_cast<uint8_t>(1 << (bits - 1)); }
};
const SmallFloat& small_float(DType dtype);
// The largest finite number of any of them.
double largest_of_small(DType dtype);

// On the host: the number of a byte, and the byte of the nearest number, ties to even. Bits of the
// byte above the format's are not looked at.
double from_small(DType dtype, uint8_t byte);
uint8_t to_small(DType dtype, double value);
// The value that the low bits have as an i4, i2, ui4 or ui2.
int64_t small_int(DType dtype, int64_t bits);

// In a graph: f32 of bytes (ui8), exactly; and the bytes of floats of any of a graph's types, with
// one rounding as to_small has it.
Value small_to_f32(Graph& graph, Value bytes, DType dtype, const std::string& loc);
Value float_to_small(Graph& graph, Value value, DType dtype, const std::string& loc);
// Bytes whose bits above the element type's are not known, as the type has them: zeros, or of
// signed integers the sign.
Value clean_small(Graph& graph, Value bytes, DType dtype, const std::string& loc);

}  // namespace tuff
