// Conversions between compute types. Float to integer truncates, saturates, and
// makes 0 of NaN; narrow integers live in int and uint, sign- or zero-extended.

T_FN int t_f32_to_i32(float a) {
  precise float c = a > -2147483648.0f ? a : -2147483648.0f;
  c = c < 2147483520.0f ? c : 2147483520.0f;
  int i = int(t_is_nan(a) ? 0.0f : c);
  return a >= 2147483648.0f ? 2147483647 : i;
}

T_FN uint t_f32_to_u32(float a) {
  precise float c = a > 0.0f ? a : 0.0f;
  c = c < 4294967040.0f ? c : 4294967040.0f;
  uint i = uint(t_is_nan(a) ? 0.0f : c);
  return a >= 4294967296.0f ? 0xffffffffu : i;
}

T_FN int t_f32_to_int_range(float a, float low, float high) {
  precise float c = a > low ? a : low;
  c = c < high ? c : high;
  return int(t_is_nan(a) ? 0.0f : c);
}
T_FN int t_f32_to_i8(float a) { return t_f32_to_int_range(a, -128.0f, 127.0f); }
T_FN int t_f32_to_i16(float a) { return t_f32_to_int_range(a, -32768.0f, 32767.0f); }
T_FN uint t_f32_to_u8(float a) { return uint(t_f32_to_int_range(a, 0.0f, 255.0f)); }
T_FN uint t_f32_to_u16(float a) { return uint(t_f32_to_int_range(a, 0.0f, 65535.0f)); }
// Not zero; NaN is true.
T_FN bool t_f32_to_bool(float a) { return (floatBitsToUint(a) & 0x7fffffffu) != 0u; }

// Integer to integer keeps the low bits.
T_FN int t_wrap_i8(int a) { return (a << 24) >> 24; }
T_FN int t_wrap_i16(int a) { return (a << 16) >> 16; }
T_FN uint t_wrap_u8(uint a) { return a & 0xffu; }
T_FN uint t_wrap_u16(uint a) { return a & 0xffffu; }

// Vulkan does not say which neighbour a conversion rounds to; both halves convert
// exactly and their sum rounds as every sum does.
T_FN float t_i32_to_f32(int a) {
  precise float y = float(a >> 16) * 65536.0f + float(a & 0xffff);
  return y;
}
T_FN float t_u32_to_f32(uint a) {
  precise float y = float(int(a >> 16u)) * 65536.0f + float(int(a & 0xffffu));
  return y;
}
// Of more than 24 bits, those that are lost are kept as one sticky bit, so that a
// further rounding to 16 bits gives what the integer itself would.
T_FN float t_u32_to_f32_odd(uint a) {
  uint sticky = (a & 0xffu) != 0u ? 0x100u : 0u;
  return t_u32_to_f32(a < 0x1000000u ? a : (a & 0xffffff00u) | sticky);
}
T_FN float t_i32_to_f32_odd(int a) {
  float y = t_u32_to_f32_odd(a < 0 ? 0u - uint(a) : uint(a));
  return a < 0 ? -y : y;
}
T_FN float t_bool_to_f32(bool a) { return a ? 1.0f : 0.0f; }
