// A value while a kernel runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/type.h"

namespace tuff::cpu {

// What is true of the current block of n lanes.
//   kUniform: all lanes have the bits `base`
//   kAffine (i32, i64): lane i has base + stride * i, wrapped to the type
//   kVector: lane i has lanes[i]
enum class Form : uint8_t { kUniform, kAffine, kVector };

struct Slot {
  Form form = Form::kUniform;
  DType dtype = DType::kI32;
  bool spread = false;  // kAffine: memory holds the lanes as well
  int64_t base = 0;     // signed integers sign-extended, all else zero-extended
  int64_t stride = 0;
  const std::byte* lanes = nullptr;
  std::byte* memory = nullptr;  // this value's own array; null for values outside lane loops

  void set_uniform(int64_t bits) {
    form = Form::kUniform;
    base = bits;
    stride = 0;
  }
  void set_affine(int64_t first, int64_t step) {
    form = step == 0 ? Form::kUniform : Form::kAffine;
    base = first;
    stride = step;
    spread = false;
  }
  void set_lanes(const std::byte* data) {
    form = Form::kVector;
    lanes = data;
  }
};

// Extends the low bytes of `bits` as Slot::base wants them.
inline int64_t canonical_bits(DType dtype, int64_t bits) {
  switch (dtype) {
    case DType::kI8: return static_cast<int8_t>(bits);
    case DType::kI16: return static_cast<int16_t>(bits);
    case DType::kI32: return static_cast<int32_t>(bits);
    case DType::kBool:
    case DType::kU8: return static_cast<uint8_t>(bits);
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16: return static_cast<uint16_t>(bits);
    case DType::kU32:
    case DType::kF32: return static_cast<uint32_t>(bits);
    default: return bits;
  }
}

}  // namespace tuff::cpu
