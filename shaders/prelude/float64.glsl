// f64 arithmetic, for devices with 64-bit floats and integers. Transcendentals of
// f64 run on the CPU only.

T_FN bool t_is_nan(double a) {
  return (doubleBitsToUint64(a) << 1) > (uint64_t(0xffe00000u) << 32);
}
T_FN bool t_is_finite(double a) {
  return (doubleBitsToUint64(a) << 1) < (uint64_t(0xffe00000u) << 32);
}
T_FN bool t_ne(double a, double b) { return t_is_nan(a) || t_is_nan(b) || a != b; }
T_FN int64_t t_total_order(double a) {
  int64_t i = int64_t(doubleBitsToUint64(a));
  return i ^ int64_t(uint64_t(i >> 63) >> 1);
}
// As t_max_key and t_min_key of float.glsl.
T_FN uint64_t t_max_key(double a) {
  return uint64_t(t_total_order(a)) + (uint64_t(0x7ff00000u) << 32) + uint64_t(1);
}
T_FN uint64_t t_min_key(double a) {
  return uint64_t(t_total_order(a)) + (uint64_t(0x80100000u) << 32) - uint64_t(1);
}
T_FN double t_max(double a, double b) { return t_max_key(a) >= t_max_key(b) ? a : b; }
T_FN double t_min(double a, double b) { return t_min_key(a) <= t_min_key(b) ? a : b; }
T_FN double t_sign(double a) {
  uint64_t sign = (doubleBitsToUint64(a) >> 63) << 63;
  double one = uint64BitsToDouble(sign | (uint64_t(0x3ff00000u) << 32));
  return t_is_nan(a) || (doubleBitsToUint64(a) << 1) == uint64_t(0) ? a : one;
}
T_FN double t_round_afz(double a) {
  precise double whole = trunc(a);
  precise double rest = abs(a - whole);
  uint64_t sign = (doubleBitsToUint64(a) >> 63) << 63;
  precise double away = whole + uint64BitsToDouble(sign | (uint64_t(0x3ff00000u) << 32));
  double picked = rest >= double(0.5f) ? away : whole;
  uint64_t bits = (doubleBitsToUint64(picked) << 1) >> 1;
  return uint64BitsToDouble(t_is_nan(a) ? doubleBitsToUint64(a) : bits | sign);
}
// As t_round_afz, but halves go where `whole` is even. The builtin truncates f64 on lavapipe 25
// with vectors of 512 bits.
T_FN double t_round_even(double a) {
  precise double whole = trunc(a);
  precise double rest = abs(a - whole);
  precise double pairs = whole * double(0.5f);
  uint64_t sign = (doubleBitsToUint64(a) >> 63) << 63;
  precise double away = whole + uint64BitsToDouble(sign | (uint64_t(0x3ff00000u) << 32));
  bool up = rest > double(0.5f) || (rest == double(0.5f) && trunc(pairs) != pairs);
  double picked = up ? away : whole;
  uint64_t bits = (doubleBitsToUint64(picked) << 1) >> 1;
  return uint64BitsToDouble(t_is_nan(a) ? doubleBitsToUint64(a) : bits | sign);
}
// Drivers with f64 at all round these right; nothing repairs one that does not.
T_FN double t_div(double a, double b) {
  precise double y = a / b;
  return y;
}
T_FN double t_sqrt(double a) {
  precise double y = sqrt(a);
  return y;
}
T_FN double t_rsqrt(double a) {
  precise double y = double(1.0f) / sqrt(a);
  return y;
}

// Exact: the significands' remainder, eleven bits of the exponents' distance at a time.
T_FN double t_rem(double a, double b) {
  uint64_t sign = (doubleBitsToUint64(a) >> 63) << 63;
  uint64_t x = doubleBitsToUint64(a) ^ sign;
  uint64_t y = (doubleBitsToUint64(b) << 1) >> 1;
  uint64_t hidden = uint64_t(1) << 52;
  int ex = int(uint(x >> 52)), ey = int(uint(y >> 52));
  uint64_t m = ey > 0 ? (y & (hidden - uint64_t(1))) | hidden : y;
  m = m == uint64_t(0) ? uint64_t(1) : m;
  uint64_t r = ex > 0 ? (x & (hidden - uint64_t(1))) | hidden : x;
  ex = ex > 0 ? ex : 1;
  ey = ey > 0 ? ey : 1;
  r = r % m;
  for (int left = ex - ey; left > 0; left -= 11) r = (r << (left < 11 ? left : 11)) % m;
  int lead = int(uint(t_clz(r | uint64_t(1), 64))) - 11;
  bool normal = r != uint64_t(0) && lead < ey;
  uint64_t scaled = r << (normal ? lead : ey - 1 < 52 ? ey - 1 : 52);
  uint64_t bits = normal ? (scaled & (hidden - uint64_t(1))) | (uint64_t(uint(ey - lead)) << 52) : scaled;
  bits = x < y || (!t_is_finite(b) && !t_is_nan(b)) ? x : bits;
  bool none = !t_is_finite(a) || t_is_nan(b) || y == uint64_t(0);
  return uint64BitsToDouble(none ? uint64_t(0x7ff80000u) << 32 : bits | sign);
}

T_FN double t_f32_to_f64(float a) { return double(a); }
// Rounded in integers: to nearest even, denormals and overflow included.
T_FN float t_f64_to_f32(double a) {
  uint64_t u = doubleBitsToUint64(a);
  uint sign = uint(u >> 32) & 0x80000000u;
  int e = int(uint(u >> 52) & 0x7ffu) - 896;  // the float's exponent field
  uint64_t m = (u & ((uint64_t(0xfffffu) << 32) | uint64_t(0xffffffffu))) | (uint64_t(1) << 52);
  int lost = 29 + (e > 0 ? 0 : (e > -25 ? 1 - e : 26));
  uint64_t kept = m >> lost;
  uint64_t tail = m - (kept << lost);
  uint64_t half_unit = uint64_t(1) << (lost - 1);
  bool up = tail > half_unit || (tail == half_unit && (kept & uint64_t(1)) != uint64_t(0));
  uint bits = uint(kept) + (up ? 1u : 0u) + (e > 0 && e < 255 ? uint(e - 1) << 23u : 0u);
  bits = e >= 255 ? 0x7f800000u : bits;
  bits = t_is_nan(a) ? 0x7fc00000u : bits;
  return uintBitsToFloat(bits | sign);
}
// Toward zero, with the last bit set if anything was lost: rounding that again to a
// narrower type is as rounding the double once.
T_FN float t_f64_to_f32_odd(double a) {
  uint64_t u = doubleBitsToUint64(a);
  uint sign = uint(u >> 32) & 0x80000000u;
  int e = int(uint(u >> 52) & 0x7ffu) - 896;
  uint64_t m = (u & ((uint64_t(0xfffffu) << 32) | uint64_t(0xffffffffu))) | (uint64_t(1) << 52);
  int lost = 29 + (e > 0 ? 0 : (e > -25 ? 1 - e : 26));
  uint64_t kept = m >> lost;
  bool inexact = m != (kept << lost) && (u << 1) != uint64_t(0);
  uint bits = uint(kept) | (inexact ? 1u : 0u);
  bits = e > 0 ? (bits & 0x007fffffu) | (uint(e < 255 ? e : 0) << 23u) : bits;
  bits = e >= 255 ? 0x7f7fffffu : bits;                        // rounds to inf, truncates to most
  bits = (u << 1) == (uint64_t(0xffe00000u) << 32) ? 0x7f800000u : bits;
  bits = t_is_nan(a) ? 0x7fc00000u : bits;
  return uintBitsToFloat(bits | sign);
}
T_FN double t_i32_to_f64(int a) { return double(a); }
T_FN double t_u32_to_f64(uint a) { return double(a); }
// Both halves are exact and the sum rounds once.
T_FN double t_i64_to_f64(int64_t a) {
  precise double y = double(int(a >> 32)) * double(4294967296.0f) + double(uint(a));
  return y;
}
T_FN double t_u64_to_f64(uint64_t a) {
  precise double y = double(uint(a >> 32)) * double(4294967296.0f) + double(uint(a));
  return y;
}
T_FN int t_f64_to_i32(double a) {
  precise double c = a > double(-2147483648.0f) ? a : double(-2147483648.0f);
  c = c < double(2147483647) ? c : double(2147483647);
  return t_is_nan(a) ? 0 : int(c);
}
T_FN uint t_f64_to_u32(double a) {
  precise double c = a > double(0.0f) ? a : double(0.0f);
  c = c < double(4294967295u) ? c : double(4294967295u);
  return t_is_nan(a) ? 0u : uint(c);
}
T_FN uint64_t t_f64_to_u64(double a) {
  uint64_t u = doubleBitsToUint64(a);
  int e = int(uint(u >> 52) & 0x7ffu) - 1075;
  uint64_t m = (u & ((uint64_t(0xfffffu) << 32) | uint64_t(0xffffffffu))) | (uint64_t(1) << 52);
  uint64_t left = m << (e > 0 ? (e < 11 ? e : 11) : 0);
  uint64_t right = m >> (e < 0 ? (e > -53 ? -e : 53) : 0);
  uint64_t value = e > 0 ? left : right;
  value = e > 11 ? ~uint64_t(0) : value;
  return t_is_nan(a) || (u >> 63) != uint64_t(0) ? uint64_t(0) : value;
}
T_FN int64_t t_f64_to_i64(double a) {
  uint64_t size = t_f64_to_u64(abs(a));
  uint64_t most = uint64_t(0x7fffffffu) << 32 | uint64_t(0xffffffffu);
  int64_t value = int64_t(size > most ? most : size);
  bool minus = (doubleBitsToUint64(a) >> 63) != uint64_t(0);
  return minus ? (size > most ? -int64_t(most) - int64_t(1) : -value) : value;
}
T_FN bool t_f64_to_bool(double a) { return (doubleBitsToUint64(a) << 1) != uint64_t(0); }
T_FN double t_bool_to_f64(bool a) { return double(a ? 1.0f : 0.0f); }
