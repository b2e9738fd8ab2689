// Powers and roots.

T_FN float t_rsqrt(float a) { return t_div(1.0f, t_sqrt(a)); }

// a (1 / ln 2 + u a(u)) = log2(1 + u) / u in fixed point: 2^31 a(u), with u times 2^32.
T_FN int t_log2_series(int u) {
  int a = 170745512;
  a = -309209439 + t_imulhi(a, u);
  a = 309634466 + t_imulhi(a, u);
  a = -306745813 + t_imulhi(a, u);
  a = 341093627 + t_imulhi(a, u);
  a = -387263896 + t_imulhi(a, u);
  a = 442748900 + t_imulhi(a, u);
  a = -516365805 + t_imulhi(a, u);
  a = 619629499 + t_imulhi(a, u);
  a = -774540891 + t_imulhi(a, u);
  a = 1032721360 + t_imulhi(a, u);
  a = -1549082005 + t_imulhi(a, u);
  return a;
}

// 2^(y log2 |x|). An error of 2^-31 in the logarithm's relative precision is 2^-24 in
// a result near the end of the range, so log2 is summed in 32-bit fixed point (float
// pairs would need as many operations) and multiplied as a pair of floats.
T_FN float t_pow(float x, float y) {
  uint ux = floatBitsToUint(x) & 0x7fffffffu;
  uint uy = floatBitsToUint(y) & 0x7fffffffu;
  // |x| = 2^n (1 + u), u in [sqrt(1/2) - 1, sqrt(2) - 1), as in t_log.
  bool tiny = ux < 0x00800000u;
  precise float scaled = float(int(ux & 0x007fffffu));
  int lifted = int(tiny ? floatBitsToUint(scaled) : ux) - 0x3f3504f3;
  precise float n = float((lifted >> 23) - (tiny ? 149 : 0));
  precise float m = intBitsToFloat((lifted & 0x007fffff) + 0x3f3504f3);
  int u = int((m - 1.0f) * 16777216.0f) * 256;
  int series = t_log2_series(u);
  // slope = 2^31 log2(1 + u) / u, rounded; 1 / ln 2 in 64 bits is b8aa3b29:5c17f0bc.
  uint part = uint(series) * uint(u) + 0x5c17f0bcu;
  uint slope = 0xb8aa3b29u + uint(t_imulhi(series, u)) + (part < 0x5c17f0bcu ? 1u : 0u) + (part >> 31u);
  uint size = uint(u < 0 ? -u : u) >> 8u;
  precise float l1 = float(int(t_umulhi(size, slope))) * 1.1920929e-7f;
  uint rest = size * slope;
  precise float l2 = float(int(rest >> 8u)) * 7.1054274e-15f;
  precise float l3 = float(int(rest & 0xffu)) * 2.7755576e-17f;
  precise float s = l1 + l2;
  precise float t = (l2 - (s - l1)) + l3;
  s = u < 0 ? -s : s;
  t = u < 0 ? -t : t;
  precise float h = n + s;
  precise float l = (s - (h - n)) + t;
  precise float log_high = h + l;
  precise float log_low = l - (log_high - h);
  // Times y by exact half products; past 2^36 the sign of the logarithm decides.
  precise float w = uintBitsToFloat((uy < 0x51800000u ? uy : 0x51800000u) |
                                    (floatBitsToUint(y) & 0x80000000u));
  precise float w1 = t_high_half(w);
  precise float w2 = w - w1;
  precise float h1 = t_high_half(log_high);
  precise float h2 = log_high - h1;
  precise float p = log_high * w;
  precise float e = (((h1 * w1 - p) + h1 * w2) + h2 * w1) + h2 * w2;
  e = e + log_low * w;
  bool far = abs(p) > 200.0f;
  p = p > 200.0f ? 200.0f : p;
  p = p < -200.0f ? -200.0f : p;
  p = ux >= 0x7f800000u || ux == 0u ? 0.0f : p;
  precise float shifted = t_shift_whole(p);
  precise float whole = t_whole(shifted);
  precise float r = (p - whole) + (far ? 0.0f : e);
  precise float q = 1.3390989e-3f + r * 1.5462884e-4f;
  q = 9.6180625e-3f + r * q;
  q = 5.5503596e-2f + r * q;
  q = 0.2402265f + r * q;
  q = 0.6931472f + r * q;
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
