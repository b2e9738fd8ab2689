// From f16 by integer arithmetic: a driver's own conversion may flush denormals.
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
