// 64-bit integers as pairs of 32 bits, for devices without them: x is the low word. Same names
// and rules as in int64.glsl; operators of op.def that vectors do not have are functions.

T_FN ivec2 t_i32_to_i64(int a) { return ivec2(a, a >> 31); }
T_FN uvec2 t_i32_to_u64(int a) { return uvec2(uint(a), uint(a >> 31)); }
T_FN ivec2 t_u32_to_i64(uint a) { return ivec2(int(a), 0); }
T_FN uvec2 t_u32_to_u64(uint a) { return uvec2(a, 0u); }

T_FN bool t_less(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }
T_FN bool t_less(ivec2 a, ivec2 b) { return a.y < b.y || (a.y == b.y && uint(a.x) < uint(b.x)); }

T_FN uvec2 t_add(uvec2 a, uvec2 b) {
  uint low = a.x + b.x;
  return uvec2(low, a.y + b.y + (low < a.x ? 1u : 0u));
}
T_FN ivec2 t_add(ivec2 a, ivec2 b) { return ivec2(t_add(uvec2(a), uvec2(b))); }
T_FN uvec2 t_sub(uvec2 a, uvec2 b) {
  return uvec2(a.x - b.x, a.y - b.y - (a.x < b.x ? 1u : 0u));
}
T_FN ivec2 t_sub(ivec2 a, ivec2 b) { return ivec2(t_sub(uvec2(a), uvec2(b))); }
T_FN uvec2 t_mul(uvec2 a, uvec2 b) {
  return uvec2(a.x * b.x, t_umulhi(a.x, b.x) + a.x * b.y + a.y * b.x);
}
T_FN ivec2 t_mul(ivec2 a, ivec2 b) { return ivec2(t_mul(uvec2(a), uvec2(b))); }
T_FN uvec2 t_negate(uvec2 a) { return t_sub(uvec2(0u, 0u), a); }
T_FN ivec2 t_negate(ivec2 a) { return ivec2(t_negate(uvec2(a))); }

T_FN ivec2 t_max(ivec2 a, ivec2 b) { return t_less(b, a) ? a : b; }
T_FN uvec2 t_max(uvec2 a, uvec2 b) { return t_less(b, a) ? a : b; }
T_FN ivec2 t_min(ivec2 a, ivec2 b) { return t_less(a, b) ? a : b; }
T_FN uvec2 t_min(uvec2 a, uvec2 b) { return t_less(a, b) ? a : b; }

T_FN ivec2 t_sign(ivec2 a) {
  return a.y < 0 ? ivec2(-1, -1) : ivec2((a.x | a.y) != 0 ? 1 : 0, 0);
}
T_FN uvec2 t_sign(uvec2 a) { return uvec2((a.x | a.y) != 0u ? 1u : 0u, 0u); }

T_FN uvec2 t_magnitude(ivec2 a) { return a.y < 0 ? t_negate(uvec2(a)) : uvec2(a); }
T_FN ivec2 t_abs(ivec2 a) { return ivec2(t_magnitude(a)); }

// Amounts are taken as unsigned; 64 and more shift everything out.
T_FN uint t_amount(uvec2 b) { return b.y == 0u && b.x < 64u ? b.x : 64u; }
T_FN uvec2 t_shl(uvec2 a, uvec2 b) {
  uint amount = t_amount(b);
  uint part = amount & 31u;
  uint carried = (a.x >> (31u - part)) >> 1u;
  uvec2 near = uvec2(a.x << part, (a.y << part) | carried);
  uvec2 far = uvec2(0u, amount < 64u ? a.x << part : 0u);
  return amount < 32u ? near : far;
}
T_FN ivec2 t_shl(ivec2 a, ivec2 b) { return ivec2(t_shl(uvec2(a), uvec2(b))); }
T_FN uvec2 t_srl(uvec2 a, uvec2 b, int width) {
  uint amount = t_amount(b);
  uint part = amount & 31u;
  uint carried = (a.y << (31u - part)) << 1u;
  uvec2 near = uvec2((a.x >> part) | carried, a.y >> part);
  uvec2 far = uvec2(amount < 64u ? a.y >> part : 0u, 0u);
  return amount < 32u ? near : far;
}
T_FN ivec2 t_srl(ivec2 a, ivec2 b, int width) {
  return ivec2(t_srl(uvec2(a), uvec2(b), width));
}
T_FN ivec2 t_sra(ivec2 a, ivec2 b, int width) {
  uint any = t_amount(uvec2(b));
  uint amount = any < 63u ? any : 63u;
  uint part = amount & 31u;
  uint carried = (uint(a.y) << (31u - part)) << 1u;
  int high = a.y >> int(part);
  ivec2 near = ivec2(int((uint(a.x) >> part) | carried), high);
  ivec2 far = ivec2(high, a.y >> 31);
  return amount < 32u ? near : far;
}
T_FN uvec2 t_sra(uvec2 a, uvec2 b, int width) {
  return uvec2(t_sra(ivec2(a), ivec2(b), width));
}

T_FN uvec2 t_popcnt(uvec2 a, int width) {
  return uvec2(t_popcnt(a.x, 32) + t_popcnt(a.y, 32), 0u);
}
T_FN uvec2 t_clz(uvec2 a, int width) {
  return uvec2(a.y != 0u ? t_clz(a.y, 32) : 32u + t_clz(a.x, 32), 0u);
}

// Bit by bit from the dividend's highest; b is not 0.
T_FN uvec2 t_quotient(uvec2 a, uvec2 b) {
  uvec2 rest = uvec2(0u, 0u);
  uvec2 quotient = uvec2((a.y | b.y) == 0u ? a.x / (b.x == 0u ? 1u : b.x) : 0u, 0u);
  int bits = (a.y | b.y) == 0u ? 0 : 64 - int(t_clz(a, 64).x);
  for (int i = bits - 1; i >= 0; --i) {
    bool carry = (rest.y >> 31u) != 0u;
    uint word = i < 32 ? a.x : a.y;
    rest = uvec2((rest.x << 1u) | ((word >> uint(i & 31)) & 1u), (rest.y << 1u) | (rest.x >> 31u));
    bool fits = carry || !t_less(rest, b);
    rest = fits ? t_sub(rest, b) : rest;
    quotient = uvec2((quotient.x << 1u) | (fits ? 1u : 0u),
                     (quotient.y << 1u) | (quotient.x >> 31u));
  }
  return quotient;
}
T_FN uvec2 t_div(uvec2 a, uvec2 b) {
  bool none = (b.x | b.y) == 0u;
  uvec2 quotient = t_quotient(a, none ? uvec2(1u, 0u) : b);
  return none ? uvec2(0xffffffffu, 0xffffffffu) : quotient;
}
T_FN ivec2 t_div(ivec2 a, ivec2 b) {
  uvec2 quotient = t_div(t_magnitude(a), t_magnitude(b));
  quotient = (a.y ^ b.y) < 0 ? t_negate(quotient) : quotient;
  return (b.x | b.y) == 0 ? ivec2(-1, -1) : ivec2(quotient);
}
T_FN uvec2 t_rem(uvec2 a, uvec2 b) {
  return (b.x | b.y) == 0u ? a : t_sub(a, t_mul(t_div(a, b), b));
}
T_FN ivec2 t_rem(ivec2 a, ivec2 b) {
  uvec2 rest = t_rem(t_magnitude(a), t_magnitude(b));
  return ivec2(a.y < 0 ? t_negate(rest) : rest);
}

T_FN uvec2 t_ipow(uvec2 a, uvec2 b) {
  uvec2 result = uvec2(1u, 0u);
  uvec2 base = a;
  for (uvec2 e = b; (e.x | e.y) != 0u; e = t_srl(e, uvec2(1u, 0u), 64)) {
    result = (e.x & 1u) != 0u ? t_mul(result, base) : result;
    base = t_mul(base, base);
  }
  return result;
}
T_FN ivec2 t_ipow(ivec2 a, ivec2 b) {
  bool minus = b.y < 0;
  ivec2 power = ivec2(t_ipow(uvec2(a), minus ? uvec2(uint(b.x) & 1u, 0u) : uvec2(b)));
  bool unit = (a.x == 1 && a.y == 0) || (a.x == -1 && a.y == -1);
  return minus && !unit ? ivec2(0, 0) : power;
}

T_FN uvec2 t_f32_to_u64(float a) {
  uint u = floatBitsToUint(a);
  int e = int((u >> 23u) & 0xffu) - 150;
  uint m = (u & 0x007fffffu) | 0x00800000u;
  uvec2 left = t_shl(uvec2(m, 0u), uvec2(uint(e > 0 ? (e < 40 ? e : 40) : 0), 0u));
  uint right = m >> uint(e < 0 ? (e > -24 ? -e : 24) : 0);
  uvec2 value = e > 0 ? left : uvec2(right, 0u);
  value = e > 40 ? uvec2(0xffffffffu, 0xffffffffu) : value;
  return t_is_nan(a) || u >= 0x80000000u ? uvec2(0u, 0u) : value;
}
T_FN ivec2 t_f32_to_i64(float a) {
  bool minus = floatBitsToInt(a) < 0;
  uvec2 most = minus ? uvec2(0u, 0x80000000u) : uvec2(0xffffffffu, 0x7fffffffu);
  uvec2 size = t_min(t_f32_to_u64(abs(a)), most);
  return ivec2(minus ? t_negate(size) : size);
}
// The high word after `lead` leading zeros, its last bit sticky for the lost ones.
T_FN uint t_u64_top(uvec2 a, uint lead) {
  uvec2 shifted = t_shl(a, uvec2(lead, 0u));
  return shifted.y | (shifted.x != 0u ? 1u : 0u);
}
T_FN float t_u64_to_f32(uvec2 a) {
  uint lead = t_clz(uvec2(a.x | 1u, a.y), 64).x;
  precise float y = t_u32_to_f32(t_u64_top(a, lead)) * t_exp2i(32 - int(lead));
  return a.y == 0u ? t_u32_to_f32(a.x) : y;
}
T_FN float t_u64_to_f32_odd(uvec2 a) {
  uint lead = t_clz(uvec2(a.x | 1u, a.y), 64).x;
  precise float y = t_u32_to_f32_odd(t_u64_top(a, lead)) * t_exp2i(32 - int(lead));
  return a.y == 0u ? t_u32_to_f32_odd(a.x) : y;
}
T_FN float t_i64_to_f32(ivec2 a) {
  precise float y = t_u64_to_f32(t_magnitude(a));
  return a.y < 0 ? -y : y;
}
T_FN float t_i64_to_f32_odd(ivec2 a) {
  float y = t_u64_to_f32_odd(t_magnitude(a));
  return a.y < 0 ? -y : y;
}
