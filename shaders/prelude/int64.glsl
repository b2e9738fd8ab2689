// The integer rules of int.glsl for 64 bits, for devices with 64-bit integers.

// Mesa 22 compares an int that was widened by a conversion wrongly with any constant (all of
// < <= > >=, min and max), so its sign is put beside it.
T_FN uint64_t t_i32_to_u64(int a) { return uint64_t(uint(a >> 31)) << 32 | uint64_t(uint(a)); }
T_FN int64_t t_i32_to_i64(int a) { return int64_t(t_i32_to_u64(a)); }
T_FN uint64_t t_u32_to_u64(uint a) { return uint64_t(a); }
T_FN int64_t t_u32_to_i64(uint a) { return int64_t(a); }

T_FN bool t_is_negative(int64_t a) { return int(a >> 32) < 0; }

T_FN int64_t t_max(int64_t a, int64_t b) { return a > b ? a : b; }
T_FN uint64_t t_max(uint64_t a, uint64_t b) { return a > b ? a : b; }
T_FN int64_t t_min(int64_t a, int64_t b) { return a < b ? a : b; }
T_FN uint64_t t_min(uint64_t a, uint64_t b) { return a < b ? a : b; }

T_FN int64_t t_sign(int64_t a) { return t_i32_to_i64(t_is_negative(a) ? -1 : (a != int64_t(0) ? 1 : 0)); }
T_FN uint64_t t_sign(uint64_t a) { return uint64_t(a > uint64_t(0) ? 1u : 0u); }

T_FN uint64_t t_magnitude(int64_t a) {
  return t_is_negative(a) ? uint64_t(0) - uint64_t(a) : uint64_t(a);
}

T_FN uint64_t t_div(uint64_t a, uint64_t b) {
  uint64_t safe = b == uint64_t(0) ? uint64_t(1) : b;
  uint64_t q = a / safe;
  return b == uint64_t(0) ? ~uint64_t(0) : q;
}

T_FN int64_t t_div(int64_t a, int64_t b) {
  uint64_t ub = t_magnitude(b);
  uint64_t q = t_magnitude(a) / (ub == uint64_t(0) ? uint64_t(1) : ub);
  uint64_t s = t_is_negative(a ^ b) ? uint64_t(0) - q : q;
  return b == int64_t(0) ? int64_t(-1) : int64_t(s);
}

T_FN uint64_t t_rem(uint64_t a, uint64_t b) {
  uint64_t safe = b == uint64_t(0) ? uint64_t(1) : b;
  uint64_t q = a / safe;
  return b == uint64_t(0) ? a : a - q * safe;
}

T_FN int64_t t_rem(int64_t a, int64_t b) {
  uint64_t r = t_rem(t_magnitude(a), t_magnitude(b));
  return int64_t(t_is_negative(a) ? uint64_t(0) - r : r);
}

T_FN uint64_t t_shl(uint64_t a, uint64_t b) {
  return b < uint64_t(64) ? a << (b & uint64_t(63)) : uint64_t(0);
}
T_FN int64_t t_shl(int64_t a, int64_t b) { return int64_t(t_shl(uint64_t(a), uint64_t(b))); }
T_FN int64_t t_sra(int64_t a, int64_t b, int width) {
  return a >> (uint64_t(b) < uint64_t(63) ? b : int64_t(63));
}
T_FN uint64_t t_sra(uint64_t a, uint64_t b, int width) {
  return uint64_t(t_sra(int64_t(a), int64_t(b), width));
}
T_FN uint64_t t_srl(uint64_t a, uint64_t b, int width) {
  return b < uint64_t(64) ? a >> (b & uint64_t(63)) : uint64_t(0);
}
T_FN int64_t t_srl(int64_t a, int64_t b, int width) {
  return int64_t(t_srl(uint64_t(a), uint64_t(b), width));
}

T_FN uint64_t t_popcnt(uint64_t a, int width) {
  return uint64_t(t_popcnt(uint(a), 32) + t_popcnt(uint(a >> 32), 32));
}
T_FN uint64_t t_clz(uint64_t a, int width) {
  uint high = uint(a >> 32);
  return uint64_t(high != 0u ? t_clz(high, 32) : 32u + t_clz(uint(a), 32));
}

T_FN uint64_t t_ipow(uint64_t a, uint64_t b) {
  uint64_t result = uint64_t(1);
  uint64_t base = a;
  for (uint64_t e = b; e != uint64_t(0); e = e >> 1) {
    result = (e & uint64_t(1)) != uint64_t(0) ? result * base : result;
    base = base * base;
  }
  return result;
}
T_FN int64_t t_ipow(int64_t a, int64_t b) {
  int64_t power = int64_t(t_ipow(uint64_t(a), uint64_t(t_is_negative(b) ? b & int64_t(1) : b)));
  int64_t inverse = (a == int64_t(1) || a == int64_t(-1)) ? power : int64_t(0);
  return t_is_negative(b) ? inverse : power;
}

// Float conversions. A float's 24 bits are shifted into place as integers: a
// driver's own conversion is not trusted to saturate or to round.
T_FN uint64_t t_f32_to_u64(float a) {
  uint u = floatBitsToUint(a);
  int e = int((u >> 23u) & 0xffu) - 150;
  uint64_t m = uint64_t((u & 0x007fffffu) | 0x00800000u);
  uint64_t left = m << (e > 0 ? (e < 40 ? e : 40) : 0);
  uint64_t right = m >> (e < 0 ? (e > -24 ? -e : 24) : 0);
  uint64_t value = e > 0 ? left : right;
  value = e > 40 ? ~uint64_t(0) : value;
  return t_is_nan(a) || u >= 0x80000000u ? uint64_t(0) : value;
}
T_FN int64_t t_f32_to_i64(float a) {
  uint64_t size = t_f32_to_u64(abs(a));
  uint64_t most = uint64_t(0x7fffffffu) << 32 | uint64_t(0xffffffffu);
  int64_t value = int64_t(size > most ? most : size);
  bool minus = floatBitsToInt(a) < 0;
  return minus ? (size > most ? -int64_t(most) - int64_t(1) : -value) : value;
}
// The top 25 bits with the rest folded into the last (sticky) round like the whole.
// The high 32 bits after `lead` leading zeros, the last one sticky for the lost ones.
T_FN uint t_u64_top(uint64_t a, uint lead) {
  uint64_t shifted = a << int(lead);
  return uint(shifted >> 32) | (uint(shifted) != 0u ? 1u : 0u);
}
T_FN float t_u64_to_f32(uint64_t a) {
  uint lead = uint(t_clz(a | uint64_t(1), 64));
  precise float y = t_u32_to_f32(t_u64_top(a, lead)) * t_exp2i(32 - int(lead));
  return uint(a >> 32) == 0u ? t_u32_to_f32(uint(a)) : y;
}
T_FN float t_u64_to_f32_odd(uint64_t a) {
  uint lead = uint(t_clz(a | uint64_t(1), 64));
  precise float y = t_u32_to_f32_odd(t_u64_top(a, lead)) * t_exp2i(32 - int(lead));
  return uint(a >> 32) == 0u ? t_u32_to_f32_odd(uint(a)) : y;
}
T_FN float t_i64_to_f32(int64_t a) {
  precise float y = t_u64_to_f32(t_magnitude(a));
  return t_is_negative(a) ? -y : y;
}
T_FN float t_i64_to_f32_odd(int64_t a) {
  float y = t_u64_to_f32_odd(t_magnitude(a));
  return t_is_negative(a) ? -y : y;
}
