// Powers and roots.

T_FN float t_rsqrt(float a) { return t_div(1.0f, t_sqrt(a)); }

// A logarithm as a sum; low is at most half a unit in high's last place.
struct t_logarithm {
  float high;
  float low;
};

// log2 of the positive number with these bits, to 2^-31 of itself. It is 2^n m with m in
// [sqrt(1/2), sqrt(2)), as in t_log, and log2 m = K (s + s^3 / 3 + s^5 / 5 + ...) with
// s = (m - 1) / (m + 1) and K = 2 / ln 2. Here s, K and K / 3 are sums of a half, whose
// products with other halves are exact, and a rest.
T_FN t_logarithm t_log2(uint bits) {
  bool tiny = bits < 0x00800000u;
  precise float scaled = float(int(bits & 0x007fffffu));
  int lifted = int(tiny ? floatBitsToUint(scaled) : bits) - 0x3f3504f3;
  precise float n = float((lifted >> 23) - (tiny ? 149 : 0));
  precise float m = intBitsToFloat((lifted & 0x007fffff) + 0x3f3504f3);
  precise float u = m - 1.0f;
  precise float d = m + 1.0f;
  precise float d1 = t_high_half(d);
  precise float d2 = m - (d1 - 1.0f);
  bool wide = m >= 1.0f;
  precise float inverse = t_rcp_1_2(wide ? 0.5f * d : d);
  inverse = wide ? 0.5f * inverse : inverse;
  precise float s = u * inverse;
  precise float s1 = t_high_half(s);
  precise float s2 = ((u - s1 * d1) - s1 * d2) * inverse;
  // t = K (s^2 / 3 + s^4 / 5 + ...); the series is fitted from its second term on.
  precise float z = s * s;
  precise float z1 = s1 * s1;
  precise float z3 = t_high_half(z1);
  precise float z2 = (z1 - z3) + s2 * (s1 + s);
  precise float q = 0.411848068f + z * 0.337858677f;
  q = 0.57708019f + z * q;
  precise float t1 = z3 * 0.961669921875f;
  precise float t2 = (z * 0.000126772051f + (z * z) * q) + z2 * 0.961669921875f;
  // s (K + t)
  precise float t3 = t_high_half(t1);
  precise float p1 = s1 * 2.884765625f;
  precise float p2 = s1 * t3;
  precise float p3 = s1 * ((0.000624456792f + (t1 - t3)) + t2) + s2 * (2.88539004f + (t1 + t2));
  precise float h = p1 + p2;
  precise float sum = n + h;
  precise float l = ((p2 - (h - p1)) + (h - (sum - n))) + p3;
  precise float high = sum + l;
  precise float low = l - (high - sum);
  t_logarithm pair;
  pair.high = high;
  pair.low = low;
  return pair;
}

// 2^(y log2 |x|). An error of 2^-31 in the logarithm's relative precision is 2^-24 in
// a result near the end of the range, so it is multiplied as a pair of floats, too.
T_FN float t_pow(float x, float y) {
  uint ux = floatBitsToUint(x) & 0x7fffffffu;
  uint uy = floatBitsToUint(y) & 0x7fffffffu;
  t_logarithm l = t_log2(ux);
  // Times y by exact half products; past 2^36 the sign of the logarithm decides.
  precise float w = uintBitsToFloat((uy < 0x51800000u ? uy : 0x51800000u) |
                                    (floatBitsToUint(y) & 0x80000000u));
  precise float w1 = t_high_half(w);
  precise float w2 = w - w1;
  precise float h1 = t_high_half(l.high);
  precise float h2 = l.high - h1;
  precise float p = l.high * w;
  precise float e = ((h1 * w1 - p) + (h1 * w2 + h2 * w1)) + (h2 * w2 + l.low * w);
  bool far = abs(p) > 200.0f;
  p = p > 200.0f ? 200.0f : p;
  p = p < -200.0f ? -200.0f : p;
  p = ux >= 0x7f800000u || ux == 0u ? 0.0f : p;
  precise float shifted = t_shift_whole(p);
  precise float whole = t_whole(shifted);
  precise float r = (p - whole) + (far ? 0.0f : e);
  precise float r2 = r * r;
  precise float q = (5.5503596e-2f + r * 9.6180625e-3f) + r2 * (1.3390989e-3f + r * 1.5462884e-4f);
  q = 0.6931472f + r * (0.2402265f + r * q);
  q = 1.0f + r * q;
  int k = t_whole_int(shifted);
  int half_k = k >> 1;
  precise float v = (q * t_exp2i(half_k)) * t_exp2i(k - half_k);
  // IEEE 754's special cases.
  uint bits = k > 128 ? 0x7f800000u : floatBitsToUint(v);
  bool down = floatBitsToInt(y) < 0;
  bits = ux == 0u ? (down ? 0x7f800000u : 0u) : bits;
  bits = ux == 0x7f800000u ? (down ? 0u : 0x7f800000u) : bits;
  int power = int(uy >> 23u) - 127;
  int place = 23 - power;
  uint unit = 1u << uint(place > 0 ? (place < 23 ? place : 23) : 0);
  bool integer = power >= 0 && (uy & (unit - 1u)) == 0u;
  bool odd = integer && place >= 0 && ((uy | (power == 0 ? 0x00800000u : 0u)) & unit) != 0u;
  bool minus = floatBitsToInt(x) < 0;
  bits = minus && odd ? bits | 0x80000000u : bits;
  bits = minus && !integer && ux != 0u && ux < 0x7f800000u ? 0x7fc00000u : bits;
  bits = ux > 0x7f800000u || uy > 0x7f800000u ? 0x7fc00000u : bits;
  bits = uy == 0u || floatBitsToUint(x) == 0x3f800000u ? 0x3f800000u : bits;
  return uintBitsToFloat(bits);
}

// |x| = 2^(3k + j) m: a quadratic guess of m^(-1/3), two Newton steps without
// division, times m and the root of 2^j, and a last correction by the cube.
T_FN float t_cbrt(float x) {
  uint u = floatBitsToUint(x) & 0x7fffffffu;
  bool tiny = u < 0x00800000u;
  precise float scaled = float(int(u & 0x007fffffu));
  uint n = tiny ? floatBitsToUint(scaled) : u;
  int e = int(n >> 23u) - (tiny ? 149 : 0) + 173;  // 3 * 100 above the exponent
  int third = (e * 43691) >> 17;                   // e / 3 for e < 2^15
  int j = e - 3 * third;
  precise float m = uintBitsToFloat((n & 0x007fffffu) | 0x3f800000u);
  precise float r = 1.3881567f + m * (m * 9.33978e-2f - 0.48332217f);
  r = r + r * (0.33333333f - (m * 0.33333333f) * (r * r * r));
  r = r + r * (0.33333333f - (m * 0.33333333f) * (r * r * r));
  precise float root = j == 0 ? 1.0f : (j == 1 ? 1.25992105f : 1.58740105f);
  precise float full = j == 0 ? m : (j == 1 ? m + m : 4.0f * m);
  precise float inverse = j == 0 ? r : (j == 1 ? r * 0.793700526f : r * 0.629960525f);
  precise float y = (m * (r * r)) * root;
  y = y - (y * y * y - full) * (0.33333333f * (inverse * inverse));
  y = y * t_exp2i(third - 100);
  uint bits = u == 0u || u >= 0x7f800000u ? u : floatBitsToUint(y);
  return uintBitsToFloat(bits | (floatBitsToUint(x) & 0x80000000u));
}
