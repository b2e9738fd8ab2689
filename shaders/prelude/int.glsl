// Integer operations by XLA's rules, 32 bits wide. Narrow types compute in these
// and are wrapped afterwards; `width` is the bits of the element's own type.

T_FN int t_max(int a, int b) { return a > b ? a : b; }
T_FN uint t_max(uint a, uint b) { return a > b ? a : b; }
T_FN int t_min(int a, int b) { return a < b ? a : b; }
T_FN uint t_min(uint a, uint b) { return a < b ? a : b; }

T_FN int t_sign(int a) { return a > 0 ? 1 : (a < 0 ? -1 : 0); }
T_FN uint t_sign(uint a) { return a > 0u ? 1u : 0u; }

// x / 0 is all ones, INT_MIN / -1 is INT_MIN. Drivers differ on both, and GLSL
// leaves / with a negative operand undefined in places, so divide magnitudes.
T_FN uint t_div(uint a, uint b) {
  uint safe = b == 0u ? 1u : b;
  uint q = a / safe;
  return b == 0u ? 0xffffffffu : q;
}

T_FN int t_div(int a, int b) {
  uint ua = a < 0 ? 0u - uint(a) : uint(a);
  uint ub = b < 0 ? 0u - uint(b) : uint(b);
  uint safe = ub == 0u ? 1u : ub;
  uint q = ua / safe;
  uint s = (a ^ b) < 0 ? 0u - q : q;
  return b == 0 ? -1 : int(s);
}

// x % 0 is x; the sign is the dividend's, INT_MIN % -1 is 0.
T_FN uint t_rem(uint a, uint b) {
  uint safe = b == 0u ? 1u : b;
  uint q = a / safe;
  return b == 0u ? a : a - q * safe;
}

T_FN int t_rem(int a, int b) {
  uint ua = a < 0 ? 0u - uint(a) : uint(a);
  uint ub = b < 0 ? 0u - uint(b) : uint(b);
  uint safe = ub == 0u ? 1u : ub;
  uint r = ua - (ua / safe) * safe;
  uint s = a < 0 ? 0u - r : r;
  return b == 0 ? a : int(s);
}

// Shift amounts are taken as unsigned; amounts >= 32 shift everything out.
T_FN uint t_shl(uint a, uint b) {
  uint shifted = a << (b & 31u);
  return b < 32u ? shifted : 0u;
}
T_FN int t_shl(int a, int b) { return int(t_shl(uint(a), uint(b))); }
// The sign is the top bit of the element's own type, for unsigned types too.
T_FN int t_sra(int a, int b, int width) {
  int high = a << (32 - width);
  int amount = int(uint(b) < 31u ? uint(b) : 31u);
  return (high >> (32 - width)) >> amount;
}
T_FN uint t_sra(uint a, uint b, int width) { return uint(t_sra(int(a), int(b), width)); }

// The low `width` bits, zero-extended.
T_FN uint t_low_bits(uint a, int width) { return a & (0xffffffffu >> uint(32 - width)); }

T_FN uint t_srl(uint a, uint b, int width) {
  uint shifted = t_low_bits(a, width) >> (b & 31u);
  return b < 32u ? shifted : 0u;
}
T_FN int t_srl(int a, int b, int width) { return int(t_srl(uint(a), uint(b), width)); }

T_FN uint t_popcnt(uint a, int width) {
  uint x = t_low_bits(a, width);
  x = x - ((x >> 1u) & 0x55555555u);
  x = (x & 0x33333333u) + ((x >> 2u) & 0x33333333u);
  x = (x + (x >> 4u)) & 0x0f0f0f0fu;
  return (x * 0x01010101u) >> 24u;
}

// Leading zeros: smear the top bit down, count what is left.
T_FN uint t_clz(uint a, int width) {
  uint x = t_low_bits(a, width);
  x = x | (x >> 1u);
  x = x | (x >> 2u);
  x = x | (x >> 4u);
  x = x | (x >> 8u);
  x = x | (x >> 16u);
  return uint(width) - t_popcnt(x, 32);
}

// a to the power b by squaring, wrapping; 32 steps cover every exponent. A
// negative exponent gives 0 except for the bases 1 and -1.
T_FN uint t_ipow(uint a, uint b) {
  uint result = 1u;
  uint base = a;
  for (uint e = b; e != 0u; e = e >> 1u) {
    result = (e & 1u) != 0u ? result * base : result;
    base = base * base;
  }
  return result;
}

T_FN int t_ipow(int a, int b) {
  int power = int(t_ipow(uint(a), uint(b < 0 ? b & 1 : b)));
  int inverse = (a == 1 || a == -1) ? power : 0;
  return b < 0 ? inverse : power;
}

// The high 32 bits of a product. GLSL has umulExtended, the C++ header its own.
T_FN uint t_umulhi(uint a, uint b) {
  uint high, low;
  umulExtended(a, b, high, low);
  return high;
}
T_FN int t_imulhi(int a, int b) {
  int high, low;
  imulExtended(a, b, high, low);
  return high;
}
