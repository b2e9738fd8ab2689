// The 16-bit floats, by integer arithmetic: a driver's own conversions may round
// toward zero or flush. Round to nearest even, overflow to infinity, NaN stays NaN.
// Kernels are full of these, so both sides of each ?: are names or constants: of anything else
// glslang makes a branch, and SwiftShader's compiler comes to no end with hundreds of branches.

T_FN uint t_f32_to_bf16(float a) {
  uint u = floatBitsToUint(a);
  uint rounded = (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
  uint nan = (u >> 16u) | 0x40u;
  return t_is_nan(a) ? nan : rounded;
}
T_FN float t_bf16_to_f32(uint a) { return uintBitsToFloat(a << 16u); }
T_FN float t_round_bf16(float a) { return uintBitsToFloat(t_f32_to_bf16(a) << 16u); }

T_FN uint t_f32_to_f16(float a) {
  uint u = floatBitsToUint(a);
  uint magnitude = u & 0x7fffffffu;
  // Below 2^-14 the unit is 2^-24, which is the unit of sums in [1/2, 1).
  precise float shifted = uintBitsToFloat(magnitude < 0x38800000u ? magnitude : 0u) + 0.5f;
  uint tiny = floatBitsToUint(shifted) - 0x3f000000u;
  uint normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13u) & 1u)) >> 13u;
  uint nan = 0x7e00u | ((magnitude >> 13u) & 0x1ffu);
  uint bits = magnitude < 0x38800000u ? tiny : normal;
  bits = magnitude >= 0x477ff000u ? 0x7c00u : bits;
  bits = magnitude > 0x7f800000u ? nan : bits;
  return bits | ((u >> 16u) & 0x8000u);
}

T_FN float t_f16_to_f32(uint a) {
  uint magnitude = a & 0x7fffu;
  precise float tiny = float(int(magnitude)) * 5.9604645e-8f;  // 2^-24
  uint low = floatBitsToUint(tiny);
  uint normal = (magnitude << 13u) + 0x38000000u;
  uint high = (magnitude << 13u) | 0x7f800000u;
  uint bits = magnitude < 0x400u ? low : normal;
  bits = magnitude >= 0x7c00u ? high : bits;
  return uintBitsToFloat(bits | ((a & 0x8000u) << 16u));
}

T_FN float t_round_f16(float a) { return t_f16_to_f32(t_f32_to_f16(a)); }
