// For devices whose own conversion was seen to do what that of f16_narrow.glsl does.
T_FN uint t_f32_to_f16(float a) {
  return packFloat2x16(f16vec2(float16_t(a), float16_t(0.0)));
}
// Mesa takes a conversion and its inverse for nothing: between the two the sign is turned back.
T_FN float t_round_f16(float a) { return t_f16_to_f32(t_f32_to_f16(-a) ^ 0x8000u); }
