// For devices whose own conversion was seen to do what that of f16_narrow.glsl does.
// The sign is turned, and turned back: of a sum that is then converted Mesa makes one operation,
// which rounds once, and of a conversion and its inverse nothing.
T_FN uint t_f32_to_f16(float a) {
  return packFloat2x16(f16vec2(float16_t(-a), float16_t(0.0))) ^ 0x8000u;
}
T_FN uint t_f32x2_to_f16(float a, float b) {
  return packFloat2x16(f16vec2(float16_t(-a), float16_t(-b))) ^ 0x80008000u;
}
T_FN float t_round_f16(float a) { return t_f16_to_f32(t_f32_to_f16(a)); }
// Of what is rounded already.
T_FN uint t_f16_bits(float a) { return packFloat2x16(f16vec2(float16_t(a), float16_t(0.0))); }
