// Trigonometry. |x| is reduced by Payne and Hanek's method for every x alike, in
// integers: the same bits everywhere, no slow path, no branch.

// x = quadrant (pi / 2) + r + low with |r| <= pi / 4.
struct t_angle {
  float r;
  float low;
  int quadrant;
};

T_FN t_angle t_reduce_angle(float x) {
  uint u = floatBitsToUint(x);
  uint mantissa = (u & 0x007fffffu) | 0x00800000u;
  // |x| = mantissa 2^s. Of 2 / pi (below, 32 zero bits first) take the 96 bits whose
  // product with the mantissa holds the quadrant and 62 bits of fraction; bits above
  // are whole turns, bits below do not matter.
  int start = int((u >> 23u) & 0xffu) - 120;
  start = start < 0 ? 0 : start;
  uint shift = uint(start & 31);
  bool b0 = (start & 32) != 0;
  bool b1 = (start & 64) != 0;
  bool b2 = (start & 128) != 0;
  uint c0 = b1 ? 0x4e441529u : 0u;
  uint c1 = b1 ? 0xfc2757d1u : 0xa2f9836eu;
  uint c2 = b1 ? 0xf534ddc0u : 0x4e441529u;
  uint c3 = b1 ? 0xdb629599u : 0xfc2757d1u;
  uint c4 = b1 ? 0x3c439041u : 0xf534ddc0u;
  uint d0 = b2 ? 0xf534ddc0u : (b0 ? c1 : c0);
  uint d1 = b2 ? 0xdb629599u : (b0 ? c2 : c1);
  uint d2 = b2 ? 0x3c439041u : (b0 ? c3 : c2);
  uint d3 = b2 ? 0xfe5163abu : (b0 ? c4 : c3);
  uint w0 = (d0 << shift) | ((d1 >> 1u) >> (31u - shift));
  uint w1 = (d1 << shift) | ((d2 >> 1u) >> (31u - shift));
  uint w2 = (d2 << shift) | ((d3 >> 1u) >> (31u - shift));
  uint carried = t_umulhi(mantissa, w2);
  uint low = mantissa * w1 + carried;
  uint high = mantissa * w0 + t_umulhi(mantissa, w1) + (low < carried ? 1u : 0u);
  // high:low in units of 2^-62 quadrants; split at the nearest quadrant.
  uint lifted = high + 0x20000000u;
  int whole = int(lifted >> 30u);
  int fraction = int(lifted & 0x3fffffffu) - 0x20000000;
  bool negative = fraction < 0;
  int top = negative ? ~fraction + (low == 0u ? 1 : 0) : fraction;
  uint rest = negative ? 0u - low : low;
  // |fraction| as a sum of two floats, times pi / 2 = C1 + C2 where C1 has 8 bits. The
  // pieces are cut by masks: drivers fold int(float(top)) to top.
  precise float f1 = float(top & 0x3fffffc0);
  precise float f2 = float(top & 63);
  precise float f3 = float(int(rest >> 8u)) * 5.9604645e-8f;
  precise float g = f2 + f3;
  f3 = f3 - (g - f2);
  precise float f = f1 + g;
  f2 = (g - (f - f1)) + f3;
  precise float fh = uintBitsToFloat(floatBitsToUint(f) & 0xffffff00u);
  precise float fl = f - fh;
  precise float hi = fh * 1.5703125f;
  precise float lo = f * 4.83826795e-4f + (fl * 1.5703125f + f2 * 1.5707964f);
  precise float r = hi + lo;
  precise float r_low = (lo - (r - hi)) * 9.3132257e-10f;
  r = r * 9.3132257e-10f;
  bool flip = negative != (u >= 0x80000000u);
  bool small = (u & 0x7fffffffu) < 0x3f490fdbu;  // pi / 4
  t_angle angle;
  angle.r = small ? x : (flip ? -r : r);
  angle.low = small ? 0.0f : (flip ? -r_low : r_low);
  angle.quadrant = small ? 0 : (u >= 0x80000000u ? -whole : whole);
  return angle;
}

// sin(r + low) and cos(r + low); coefficients by fit.py.
T_FN float t_sin_series(float r, float low) {
  precise float z = r * r;
  precise float p = 8.332188e-3f - z * 1.95181e-4f;
  p = -0.16666655f + z * p;
  precise float y = r + (low + (r * z) * p);
  return y;
}

T_FN float t_cos_series(float r, float low) {
  precise float z = r * r;
  precise float p = -1.3887311e-3f + z * 2.4432553e-5f;
  p = 4.1666646e-2f + z * p;
  precise float h = 0.5f * z;
  precise float c = 1.0f - h;
  precise float y = c + (((1.0f - c) - h) + ((z * z) * p - r * low));
  return y;
}

T_FN float t_sin(float x) {
  t_angle t = t_reduce_angle(x);
  precise float s = t_sin_series(t.r, t.low);
  precise float c = t_cos_series(t.r, t.low);
  uint u = floatBitsToUint(x);
  uint bits = (t.quadrant & 1) != 0 ? floatBitsToUint(c) : floatBitsToUint(s);
  bits = bits ^ (uint(t.quadrant & 2) << 30u);
  bits = (u & 0x7fffffffu) < 0x39800000u ? u : bits;  // below 2^-12 it is x
  return uintBitsToFloat((u & 0x7fffffffu) >= 0x7f800000u ? 0x7fc00000u : bits);
}

T_FN float t_cos(float x) {
  t_angle t = t_reduce_angle(x);
  precise float s = t_sin_series(t.r, t.low);
  precise float c = t_cos_series(t.r, t.low);
  uint bits = (t.quadrant & 1) != 0 ? floatBitsToUint(s) : floatBitsToUint(c);
  bits = bits ^ (uint((t.quadrant + 1) & 2) << 30u);
  return uintBitsToFloat(t_is_finite(x) ? bits : 0x7fc00000u);
}

T_FN float t_tan(float x) {
  t_angle t = t_reduce_angle(x);
  precise float s = t_sin_series(t.r, t.low);
  precise float c = t_cos_series(t.r, t.low);
  bool odd = (t.quadrant & 1) != 0;
  precise float y = t_div(odd ? -c : s, odd ? s : c);
  uint u = floatBitsToUint(x);
  uint bits = (u & 0x7fffffffu) < 0x39000000u ? u : floatBitsToUint(y);  // below 2^-13
  return uintBitsToFloat((u & 0x7fffffffu) >= 0x7f800000u ? 0x7fc00000u : bits);
}

// |x| 2^64 of the bits of |x| < 2^-63, denormals too where arithmetic would flush them.
T_FN float t_scaled_up(uint u) {
  precise float denormal = float(u) * 2.5849394e-26f;
  precise float normal = uintBitsToFloat(u) * 1.8446744e19f;
  return u < 0x00800000u ? denormal : normal;
}

// The angle of the point (x, y): the smaller over the larger magnitude is the
// tangent of an angle up to pi / 4, or, past 1/2, that of its difference from
// pi / 4 by (t - 1) / (t + 1); then k pi / 4 plus or minus it.
T_FN float t_atan2(float y, float x) {
  uint uy = floatBitsToUint(y) & 0x7fffffffu;
  uint ux = floatBitsToUint(x) & 0x7fffffffu;
  bool left = floatBitsToInt(x) < 0;
  bool steep = uy > ux;
  uint big = steep ? uy : ux;
  uint little = steep ? ux : uy;
  // Zeros and infinities become 0 / 1 or 1 / 1; the rest is scaled to safe sums.
  precise float a = uintBitsToFloat(little);
  precise float b = uintBitsToFloat(big);
  precise float scale = big >= 0x5f000000u ? 5.4210109e-20f : 1.0f;
  a = big < 0x20000000u ? t_scaled_up(little) : a * scale;
  b = big < 0x20000000u ? t_scaled_up(big) : b * scale;
  a = big == 0x7f800000u ? (little == 0x7f800000u ? 1.0f : 0.0f) : a;
  b = (big == 0x7f800000u || big == 0u) ? 1.0f : b;
  bool upper = a > 0.5f * b;
  precise float over = upper ? a - b : a;
  precise float under = upper ? a + b : b;
  precise float t = t_div(over, under);
  precise float z = t * t;
  precise float p = -8.0074005e-2f + z * 3.9017398e-2f;
  p = 0.10948003f + z * p;
  p = -0.14273065f + z * p;
  p = 0.19999553f + z * p;
  p = -0.33333328f + z * p;
  p = t + (t * z) * p;
  int k = upper ? 1 : 0;
  k = steep ? 2 - k : k;
  k = left ? 4 - k : k;
  precise float q = float(k);
  precise float angle = steep != left ? -p : p;
  angle = q * 0.785396575927734375f + (q * 1.58746971e-6f + angle);
  uint bits = floatBitsToUint(angle) & 0x7fffffffu;
  bits = bits | (floatBitsToUint(y) & 0x80000000u);
  return uintBitsToFloat((ux > 0x7f800000u || uy > 0x7f800000u) ? 0x7fc00000u : bits);
}

T_FN float t_atan(float x) { return t_atan2(x, 1.0f); }
