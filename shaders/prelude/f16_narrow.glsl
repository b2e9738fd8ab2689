// To f16 by integer arithmetic: a driver's own conversion may round toward zero or flush.
// Round to nearest even, overflow to infinity, NaN stays NaN.
// Kernels are full of these, so both sides of each ?: are names or constants: of anything else
// glslang makes a branch, and SwiftShader's compiler comes to no end with hundreds of branches.

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

T_FN float t_round_f16(float a) { return t_f16_to_f32(t_f32_to_f16(a)); }
T_FN uint t_f32x2_to_f16(float a, float b) { return t_f32_to_f16(a) | (t_f32_to_f16(b) << 16u); }
// Of what is rounded already.
T_FN uint t_f16_bits(float a) { return t_f32_to_f16(a); }
