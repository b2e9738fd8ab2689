// bf16 is the upper half of an f32. Round to nearest even, NaN stays NaN. Both sides of each ?:
// are names or constants: of anything else glslang makes a branch (see f16_narrow.glsl).

T_FN uint t_f32_to_bf16(float a) {
  uint u = floatBitsToUint(a);
  uint rounded = (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
  uint nan = (u >> 16u) | 0x40u;
  return t_is_nan(a) ? nan : rounded;
}
T_FN float t_bf16_to_f32(uint a) { return uintBitsToFloat(a << 16u); }
T_FN float t_round_bf16(float a) { return uintBitsToFloat(t_f32_to_bf16(a) << 16u); }
