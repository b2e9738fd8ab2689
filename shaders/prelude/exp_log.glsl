// Exponentials and logarithms. The coefficients are minimax fits made by fit.py.
// C1 + C2 = ln 2 with C1 = 355/512, so that n * C1 is exact for every n here.

// (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2.
T_FN float t_exp_series(float r) {
  precise float q = 8.366272e-3f + r * 1.3870696e-3f;
  q = 4.1667435e-2f + r * q;
  q = 0.16666546f + r * q;
  q = 0.49999997f + r * q;
  return q;
}

T_FN float t_exp(float x) {
  // exp overflows past 88.73 and is below half the least denormal past -103.98.
  uint u = floatBitsToUint(x);
  precise float c = t_clamp_magnitude(x, 104.0f);
  precise float shifted = t_shift_whole(c * 1.44269504f);
  precise float n = t_whole(shifted);
  precise float r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  precise float p = 1.0f + (r + (r * r) * t_exp_series(r));
  // Two factors, since 2^n alone may be out of range; the first product is exact.
  int k = t_whole_int(shifted);
  int half_k = k >> 1;
  precise float y = (p * t_exp2i(half_k)) * t_exp2i(k - half_k);
  uint bits = floatBitsToUint(y);
  bits = int(u) > 0x42b17217 ? 0x7f800000u : bits;  // 88.722839
  return uintBitsToFloat(t_is_nan(x) ? u : bits);
}

// exp(x) - 1 = 2^n (e^r - 1) + (2^n - 1), at half scale so that n = 128 fits.
T_FN float t_expm1(float x) {
  uint u = floatBitsToUint(x);
  precise float c = t_clamp_magnitude(x, 104.0f);
  precise float shifted = t_shift_whole(c * 1.44269504f);
  precise float n = t_whole(shifted);
  precise float r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  precise float p = r + (r * r) * t_exp_series(r);
  int k = t_whole_int(shifted) - 1;
  k = k > -100 ? k : -100;
  precise float s = t_exp2i(k);
  precise float y = s * p + (s - 0.5f);
  y = y + y;
  uint bits = floatBitsToUint(y);
  bits = int(u) > 0x42b17217 ? 0x7f800000u : bits;  // 88.722839
  bits = (u & 0x7fffffffu) < 0x33000000u ? u : bits;  // below 2^-25 it is x
  return uintBitsToFloat(t_is_nan(x) ? u : bits);
}

// log(1 + f) - f for sqrt(1/2) <= 1 + f < sqrt(2).
T_FN float t_log_series(float f) {
  precise float z = f * f;
  precise float p = 0.12766208f - f * 7.6364495e-2f;
  p = -0.13161464f + f * p;
  p = 0.14201176f + f * p;
  p = -0.1662319f + f * p;
  p = 0.2000125f + f * p;
  p = -0.25000826f + f * p;
  p = 0.3333333f + f * p;
  p = (z * f) * p - 0.5f * z;
  return p;
}

// x = 2^n m with m in [sqrt(1/2), sqrt(2)): adding to the bits what lifts sqrt(1/2)
// to a power of two makes the exponent field carry at sqrt(2).
T_FN float t_log(float x) {
  uint u = floatBitsToUint(x);
  // A denormal as an integer is its value times 2^149; no flushed arithmetic sees it.
  bool tiny = u < 0x00800000u;
  precise float scaled = float(int(u & 0x007fffffu));
  int lifted = int((tiny ? floatBitsToUint(scaled) : u) - 0x3f3504f3u);
  precise float n = float((lifted >> 23) - (tiny ? 149 : 0));
  precise float m = intBitsToFloat((lifted & 0x007fffff) + 0x3f3504f3);
  precise float f = m - 1.0f;
  precise float y = t_log_series(f) - n * 2.12194440e-4f;
  y = n * 0.693359375f + (f + y);
  uint bits = floatBitsToUint(y);
  bits = u == 0x7f800000u ? u : bits;
  bits = (u & 0x7fffffffu) == 0u ? 0xff800000u : bits;        // log 0
  bits = u - 0x80000001u < 0x7f800000u ? 0x7fc00000u : bits;  // below 0
  return uintBitsToFloat(t_is_nan(x) ? u : bits);
}

// log(1 + x): where 1 + x rounds, the lost part c comes back as c / (1 + x), for
// which a linear 1/m (6 %) is plenty.
T_FN float t_log1p(float x) {
  uint u = floatBitsToUint(x);
  precise float w = 1.0f + x;
  precise float c_large = 1.0f - (w - x);
  precise float c = x - (w - 1.0f);
  c = int(u) >= 0x3f800000 ? c_large : c;
  int lifted = int(floatBitsToUint(w) - 0x3f3504f3u);
  int k = lifted >> 23;
  precise float m = intBitsToFloat((lifted & 0x007fffff) + 0x3f3504f3);
  int k_small = k < 100 ? k : 100;
  c = c * t_exp2i(-k_small) * (1.99653f - m * 0.941176f);
  c = k < 30 ? c : 0.0f;
  c = k == 0 ? 0.0f : c;
  precise float f = m - 1.0f;
  f = k == 0 ? x : f;
  precise float n = float(k);
  precise float y = (t_log_series(f) + c) - n * 2.12194440e-4f;
  y = n * 0.693359375f + (f + y);
  uint bits = floatBitsToUint(y);
  bits = (u & 0x7fffffffu) < 0x33000000u ? u : bits;            // below 2^-25 it is x
  bits = u == 0x7f800000u ? u : bits;
  bits = u == 0xbf800000u ? 0xff800000u : bits;                 // log 0
  bits = u - 0xbf800001u < 0x40000000u ? 0x7fc00000u : bits;    // below -1
  return uintBitsToFloat(t_is_nan(x) ? u : bits);
}

// 1 / (1 + e^-x), from e^-|x| so that neither side loses digits.
T_FN float t_logistic(float x) {
  precise float e = t_exp(-abs(x));
  precise float d = 1.0f + e;
  precise float y = t_rcp_1_2(d);
  precise float z = e * y;
  uint bits = floatBitsToInt(x) >= 0 ? floatBitsToUint(y) : floatBitsToUint(z);
  return uintBitsToFloat(t_is_nan(x) ? floatBitsToUint(x) : bits);
}
