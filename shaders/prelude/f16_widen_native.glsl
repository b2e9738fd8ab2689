// For devices whose own conversion was seen to do what that of f16_widen.glsl does.
T_FN float t_f16_to_f32(uint a) { return unpackHalf2x16(a).x; }
