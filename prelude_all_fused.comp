#version 460
layout(local_size_x = 1) in;
int t_max(int a, int b) { return a > b ? a : b; }
uint t_max(uint a, uint b) { return a > b ? a : b; }
int t_min(int a, int b) { return a < b ? a : b; }
uint t_min(uint a, uint b) { return a < b ? a : b; }
int t_sign(int a) { return a > 0 ? 1 : (a < 0 ? -1 : 0); }
uint t_sign(uint a) { return a > 0u ? 1u : 0u; }
uint t_div(uint a, uint b) {
  uint safe = b == 0u ? 1u : b;
  uint q = a / safe;
  return b == 0u ? 0xffffffffu : q;
}
int t_div(int a, int b) {
  uint ua = a < 0 ? 0u - uint(a) : uint(a);
  uint ub = b < 0 ? 0u - uint(b) : uint(b);
  uint safe = ub == 0u ? 1u : ub;
  uint q = ua / safe;
  uint s = (a ^ b) < 0 ? 0u - q : q;
  return b == 0 ? -1 : int(s);
}
uint t_rem(uint a, uint b) {
  uint safe = b == 0u ? 1u : b;
  uint q = a / safe;
  return b == 0u ? a : a - q * safe;
}
int t_rem(int a, int b) {
  uint ua = a < 0 ? 0u - uint(a) : uint(a);
  uint ub = b < 0 ? 0u - uint(b) : uint(b);
  uint safe = ub == 0u ? 1u : ub;
  uint r = ua - (ua / safe) * safe;
  uint s = a < 0 ? 0u - r : r;
  return b == 0 ? a : int(s);
}
uint t_shl(uint a, uint b) {
  uint shifted = a << (b & 31u);
  return b < 32u ? shifted : 0u;
}
int t_shl(int a, int b) { return int(t_shl(uint(a), uint(b))); }
int t_sra(int a, int b, int width) {
  int high = a << (32 - width);
  int amount = int(uint(b) < 31u ? uint(b) : 31u);
  return (high >> (32 - width)) >> amount;
}
uint t_sra(uint a, uint b, int width) { return uint(t_sra(int(a), int(b), width)); }
uint t_low_bits(uint a, int width) { return a & (0xffffffffu >> uint(32 - width)); }
uint t_srl(uint a, uint b, int width) {
  uint shifted = t_low_bits(a, width) >> (b & 31u);
  return b < 32u ? shifted : 0u;
}
int t_srl(int a, int b, int width) { return int(t_srl(uint(a), uint(b), width)); }
uint t_popcnt(uint a, int width) {
  uint x = t_low_bits(a, width);
  x = x - ((x >> 1u) & 0x55555555u);
  x = (x & 0x33333333u) + ((x >> 2u) & 0x33333333u);
  x = (x + (x >> 4u)) & 0x0f0f0f0fu;
  return (x * 0x01010101u) >> 24u;
}
uint t_clz(uint a, int width) {
  uint x = t_low_bits(a, width);
  x = x | (x >> 1u);
  x = x | (x >> 2u);
  x = x | (x >> 4u);
  x = x | (x >> 8u);
  x = x | (x >> 16u);
  return uint(width) - t_popcnt(x, 32);
}
uint t_ipow(uint a, uint b) {
  uint result = 1u;
  uint base = a;
  for (uint e = b; e != 0u; e = e >> 1u) {
    result = (e & 1u) != 0u ? result * base : result;
    base = base * base;
  }
  return result;
}
int t_ipow(int a, int b) {
  int power = int(t_ipow(uint(a), uint(b < 0 ? b & 1 : b)));
  int inverse = (a == 1 || a == -1) ? power : 0;
  return b < 0 ? inverse : power;
}
uint t_umulhi(uint a, uint b) {
  uint high, low;
  umulExtended(a, b, high, low);
  return high;
}
int t_imulhi(int a, int b) {
  int high, low;
  imulExtended(a, b, high, low);
  return high;
}
bool t_is_nan(float a) { return (floatBitsToUint(a) & 0x7fffffffu) > 0x7f800000u; }
bool t_is_inf(float a) { return (floatBitsToUint(a) & 0x7fffffffu) == 0x7f800000u; }
bool t_is_finite(float a) { return (floatBitsToUint(a) & 0x7fffffffu) < 0x7f800000u; }
bool t_ne(float a, float b) { return t_is_nan(a) || t_is_nan(b) || a != b; }
int t_total_order(float a) {
  int i = floatBitsToInt(a);
  return i ^ ((i >> 31) & 0x7fffffff);
}
uint t_max_key(float a) { return uint(t_total_order(a)) + 0x7f800001u; }
uint t_min_key(float a) { return uint(t_total_order(a)) + 0x807fffffu; }
float t_max(float a, float b) { return t_max_key(a) >= t_max_key(b) ? a : b; }
float t_min(float a, float b) { return t_min_key(a) <= t_min_key(b) ? a : b; }
float t_sign(float a) {
  uint u = floatBitsToUint(a);
  uint magnitude = u & 0x7fffffffu;
  bool keep = magnitude == 0u || magnitude > 0x7f800000u;
  return uintBitsToFloat(keep ? u : ((u & 0x80000000u) | 0x3f800000u));
}
float t_round_even(float a) { return roundEven(a); }
float t_round_afz(float a) {
  precise float whole = trunc(a);
  precise float rest = abs(a - whole);
  precise float away = whole + uintBitsToFloat((floatBitsToUint(a) & 0x80000000u) | 0x3f800000u);
  uint bits = floatBitsToInt(rest) >= 0x3f000000 ? floatBitsToUint(away) : floatBitsToUint(whole);
  return uintBitsToFloat((bits & 0x7fffffffu) | (floatBitsToUint(a) & 0x80000000u));
}
float t_reduce_precision(float a, int exponent_bits, int mantissa_bits) {
  uint u = floatBitsToUint(a);
  uint sign = u & 0x80000000u;
  uint drop = uint(mantissa_bits < 23 ? 23 - mantissa_bits : 0);
  uint unit = 1u << drop;
  uint bias = drop == 0u ? 0u : (unit >> 1u) - 1u + ((u >> drop) & 1u);
  uint rounded = (u + bias) & ~(unit - 1u);
  uint exponent = (rounded >> 23u) & 0xffu;
  uint top = (1u << uint(exponent_bits - 1)) - 1u;
  bool narrow = exponent_bits < 8;
  bool over = narrow && exponent > 127u + top;
  bool under = narrow && exponent <= 127u - top;
  uint ranged = over ? (sign | 0x7f800000u) : (under ? sign : rounded);
  uint nan = mantissa_bits > 0 ? u : (sign | 0x7f800000u);
  return uintBitsToFloat(t_is_nan(a) ? nan : ranged);
}
float t_clamp_magnitude(float x, float most) {
  uint u = floatBitsToUint(x);
  uint size = u & 0x7fffffffu;
  size = size < floatBitsToUint(most) ? size : floatBitsToUint(most);
  return uintBitsToFloat(size | (u & 0x80000000u));
}
float t_exp2i(int n) { return intBitsToFloat((n + 127) << 23); }
float t_shift_whole(float x) {
  precise float shifted = x + 12582912.0f;
  return shifted;
}
float t_whole(float shifted) {
  precise float whole = shifted - 12582912.0f;
  return whole;
}
int t_whole_int(float shifted) { return floatBitsToInt(shifted) - 0x4b400000; }
float t_high_half(float a) { return uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u); }
float t_right_reciprocal(float d, float y, float r) {
  float most = d * 2.98023224e-8f;
  precise float right = y + (r > most ? 5.96046448e-8f : r < -most ? -5.96046448e-8f : 0.0f);
  return right;
}
uint t_normalise(uint bits) {
  precise float scaled = float(int(bits & 0x007fffffu));
  return bits < 0x00800000u ? floatBitsToUint(scaled) : bits;
}
int t_exponent(uint bits) {
  return int(t_normalise(bits) >> 23u) - (bits < 0x00800000u ? 149 : 0);
}
float t_quotient_of(float a, float b, uint bits) {
  uint ua = floatBitsToUint(a) & 0x7fffffffu;
  uint ub = floatBitsToUint(b) & 0x7fffffffu;
  uint sign = (floatBitsToUint(a) ^ floatBitsToUint(b)) & 0x80000000u;
  bits = (ua == 0u || ub == 0x7f800000u) ? 0u : bits;
  bits = (ub == 0u || ua == 0x7f800000u) ? 0x7f800000u : bits;
  bool nan = ua > 0x7f800000u || ub > 0x7f800000u || (ua == 0u && ub == 0u) ||
             (ua == 0x7f800000u && ub == 0x7f800000u);
  return uintBitsToFloat(nan ? 0x7fc00000u : (bits | sign));
}
float t_div_bits(float a, float b) {
  uint ua = floatBitsToUint(a) & 0x7fffffffu;
  uint ub = floatBitsToUint(b) & 0x7fffffffu;
  int ea = t_exponent(ua);
  int eb = t_exponent(ub);
  uint ma = (t_normalise(ua) & 0x007fffffu) | 0x00800000u;
  uint mb = (t_normalise(ub) & 0x007fffffu) | 0x00800000u;
  uint shift = ma < mb ? 24u : 23u;
  int e = ea - eb + 127 - int(shift - 23u);
  precise float fb = float(int(mb));
  precise float inverse = 1.0f / fb;
  precise float guess = float(int(ma)) * inverse * (ma < mb ? 16777216.0f : 8388608.0f);
  uint quotient = uint(int(guess));
  int rest = int((ma << shift) - quotient * mb);
  precise float off = floor(float(rest) * inverse);
  int step = int(off);
  quotient = quotient + uint(step);
  rest = rest - step * int(mb);
  bool low = rest < 0;
  quotient = low ? quotient - 1u : quotient;
  rest = low ? rest + int(mb) : rest;
  bool high = rest >= int(mb);
  quotient = high ? quotient + 1u : quotient;
  rest = high ? rest - int(mb) : rest;
  int lost = e > 0 ? 0 : 1 - e;
  uint drop = uint(lost < 25 ? lost : 25);
  uint kept = quotient >> drop;
  uint tail = quotient & ((1u << drop) - 1u);
  uint half_unit = drop == 0u ? 0u : 1u << (drop - 1u);
  bool up_normal = 2 * rest > int(mb) || (2 * rest == int(mb) && (kept & 1u) != 0u);
  bool up_tiny = tail > half_unit || (tail == half_unit && (rest > 0 || (kept & 1u) != 0u));
  uint bits = kept + ((drop == 0u ? up_normal : up_tiny) ? 1u : 0u);
  bits = bits + (e > 0 ? uint(e - 1) << 23u : 0u);
  return t_quotient_of(a, b, e >= 255 ? 0x7f800000u : bits);
}
float t_root_of(float a, uint bits) {
  uint u = floatBitsToUint(a);
  bits = (u & 0x7fffffffu) == 0u ? u : bits;
  bits = u >= 0x7f800000u && u != 0x80000000u ? 0x7fc00000u : bits;
  return uintBitsToFloat(u == 0x7f800000u ? u : bits);
}
float t_sqrt_bits(float a) {
  uint u = floatBitsToUint(a) & 0x7fffffffu;
  uint n = t_normalise(u);
  int e = t_exponent(u) - 127;
  uint m = ((n & 0x007fffffu) | 0x00800000u) << uint(e & 1);
  precise float fm = float(int(m)) * 1.1920929e-7f;
  precise float guess = sqrt(fm) * 8388608.0f;
  int root = int(guess);
  int rest = int((m << 23u) - uint(root) * uint(root));
  precise float off = floor(float(rest) / (guess * 2.0f));
  int step = int(off);
  rest = rest - step * (2 * root + step);
  root = root + step;
  bool low = rest < 0;
  root = low ? root - 1 : root;
  rest = low ? rest + 2 * root + 1 : rest;
  bool high = rest > 2 * root;
  rest = high ? rest - 2 * root - 1 : rest;
  root = high ? root + 1 : root;
  uint bits = (uint((e >> 1) + 126) << 23u) + uint(root) + (rest > root ? 1u : 0u);
  return t_root_of(a, bits);
}
float t_rem_bits(float a, float b) {
  uint sign = floatBitsToUint(a) & 0x80000000u;
  uint ua = floatBitsToUint(a) & 0x7fffffffu;
  uint ub = floatBitsToUint(b) & 0x7fffffffu;
  uint ea = ua < 0x00800000u ? 1u : ua >> 23u;
  uint eb = ub < 0x00800000u ? 1u : ub >> 23u;
  uint ma = (ua & 0x007fffffu) | (ua < 0x00800000u ? 0u : 0x00800000u);
  uint mb = (ub & 0x007fffffu) | (ub < 0x00800000u ? 0u : 0x00800000u);
  bool nan = ua >= 0x7f800000u || ub > 0x7f800000u || ub == 0u;
  uint safe = mb == 0u ? 1u : mb;
  uint rest = ma;
  int steps = nan || ua < ub ? 0 : int(ea) - int(eb);
  rest = rest % safe;
  for (int left = steps; left > 0; left -= 8) {
    rest = (rest << uint(left < 8 ? left : 8)) % safe;
  }
  precise float scaled = float(int(rest));
  uint place = floatBitsToUint(scaled);
  int e = int(place >> 23u) + int(eb) - 150;
  uint up = uint(int(eb) - 1 < 23 ? int(eb) - 1 : 23);
  uint bits = e > 0 ? (place & 0x007fffffu) | (uint(e) << 23u) : rest << up;
  bits = rest == 0u ? 0u : bits;
  bits = ua < ub ? ua : bits;
  return uintBitsToFloat(nan ? 0x7fc00000u : (bits | sign));
}
bool t_size_is_in(float x, uint low, uint span) {
  return (floatBitsToUint(x) & 0x7fffffffu) - low < span;
}
float t_div_fused(float a, float b, float inverse) {
  precise float error = fma(-b, inverse, 1.0f);
  precise float y = fma(error, inverse, inverse);
  error = fma(-b, y, 1.0f);
  y = fma(error, y, y);
  uint last = (floatBitsToUint(b) & 0x007fffffu) == 0x007fffffu ? 1u : 0u;
  y = uintBitsToFloat(floatBitsToUint(y) | last);
  precise float guess = a * y;
  precise float rest = fma(-b, guess, a);
  precise float quotient = fma(rest, y, guess);
  uint bits = (floatBitsToUint(a) << 1u) == 0u ? floatBitsToUint(guess) : floatBitsToUint(quotient);
  return uintBitsToFloat(bits);
}
float t_mantissa(float a) {
  uint bits = t_normalise(floatBitsToUint(a) & 0x7fffffffu);
  return uintBitsToFloat((bits & 0x007fffffu) | 0x3f800000u);
}
float t_scaled_quotient(float a, float b, float quotient, float rest) {
  uint bits = floatBitsToUint(quotient);
  int ea = t_exponent(floatBitsToUint(a) & 0x7fffffffu);
  int eb = t_exponent(floatBitsToUint(b) & 0x7fffffffu);
  int e = ea - eb + int(bits >> 23u);
  int lost = e > 0 ? 0 : 1 - e;
  uint drop = uint(lost < 25 ? lost : 25);
  uint mantissa = (bits & 0x007fffffu) | 0x00800000u;
  uint kept = mantissa >> drop;
  uint tail = mantissa & ((1u << drop) - 1u);
  uint half_unit = (1u << drop) >> 1u;
  bool middle_goes_up = rest > 0.0f || (rest == 0.0f && (kept & 1u) != 0u);
  bool up = tail > half_unit || (drop != 0u && tail == half_unit && middle_goes_up);
  bits = kept + (up ? 1u : 0u) + (e > 0 ? uint(e - 1) << 23u : 0u);
  return t_quotient_of(a, b, e >= 255 ? 0x7f800000u : bits);
}
float t_sqrt_fused(float a, float inverse) {
  precise float root = a * inverse;
  precise float y = 0.5f * inverse;
  precise float error = fma(-root, y, 0.5f);
  root = fma(root, error, root);
  y = fma(y, error, y);
  precise float rest = fma(-root, root, a);
  root = fma(rest, y, root);
  return root;
}
float t_div(float a, float b) {
  bool fits = t_size_is_in(a, 0x18800000u, 0x4f000000u) || (floatBitsToUint(a) << 1u) == 0u;
  fits = fits && t_size_is_in(b, 0x28800000u, 0x2e000000u);
  float over = a;
  float under = b;
  if (!fits) {
    over = t_mantissa(a);
    under = t_mantissa(b);
  }
  precise float inverse = 1.0f / under;
  float quotient = t_div_fused(over, under, inverse);
  if (!fits) {
    precise float rest = fma(-under, quotient, over);
    quotient = t_scaled_quotient(a, b, quotient, rest);
  }
  return quotient;
}
float t_sqrt(float a) {
  bool fits = floatBitsToUint(a) - 0x18800000u < 0x4f000000u;
  int e = t_exponent(floatBitsToUint(a) & 0x7fffffffu) - 127;
  float square = a;
  if (!fits) square = uintBitsToFloat(floatBitsToUint(t_mantissa(a)) + (uint(e & 1) << 23u));
  float root = t_sqrt_fused(square, inversesqrt(square));
  if (!fits) root = t_root_of(a, floatBitsToUint(root) + (uint(e >> 1) << 23u));
  return root;
}
float t_rem(float a, float b) { return t_rem_bits(a, b); }
float t_rcp_1_2(float d) {
  precise float y = 2.1212121f - d * (1.4545455f - d * 0.32323232f);
  y = fma(fma(-d, y, 1.0f), y, y);
  y = fma(fma(-d, y, 1.0f), y, y);
  precise float r = fma(-d, y, 1.0f);
  return t_right_reciprocal(d, y, r);
}
float t_exp_series(float r) {
  precise float q = 8.366272e-3f + r * 1.3870696e-3f;
  q = 4.1667435e-2f + r * q;
  q = 0.16666546f + r * q;
  q = 0.49999997f + r * q;
  return q;
}
float t_exp(float x) {
  uint u = floatBitsToUint(x);
  precise float c = t_clamp_magnitude(x, 104.0f);
  precise float shifted = t_shift_whole(c * 1.44269504f);
  precise float n = t_whole(shifted);
  precise float r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  precise float p = 1.0f + (r + (r * r) * t_exp_series(r));
  int k = t_whole_int(shifted);
  int half_k = k >> 1;
  precise float y = (p * t_exp2i(half_k)) * t_exp2i(k - half_k);
  uint bits = floatBitsToUint(y);
  bits = int(u) > 0x42b17217 ? 0x7f800000u : bits;
  return uintBitsToFloat(t_is_nan(x) ? u : bits);
}
float t_expm1(float x) {
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
  bits = int(u) > 0x42b17217 ? 0x7f800000u : bits;
  bits = (u & 0x7fffffffu) < 0x33000000u ? u : bits;
  return uintBitsToFloat(t_is_nan(x) ? u : bits);
}
float t_log_series(float f) {
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
float t_log(float x) {
  uint u = floatBitsToUint(x);
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
  bits = (u & 0x7fffffffu) == 0u ? 0xff800000u : bits;
  bits = u - 0x80000001u < 0x7f800000u ? 0x7fc00000u : bits;
  return uintBitsToFloat(t_is_nan(x) ? u : bits);
}
float t_log1p(float x) {
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
  bits = (u & 0x7fffffffu) < 0x33000000u ? u : bits;
  bits = u == 0x7f800000u ? u : bits;
  bits = u == 0xbf800000u ? 0xff800000u : bits;
  bits = u - 0xbf800001u < 0x40000000u ? 0x7fc00000u : bits;
  return uintBitsToFloat(t_is_nan(x) ? u : bits);
}
float t_logistic(float x) {
  precise float e = t_exp(-abs(x));
  precise float d = 1.0f + e;
  precise float y = t_rcp_1_2(d);
  precise float z = e * y;
  uint bits = floatBitsToInt(x) >= 0 ? floatBitsToUint(y) : floatBitsToUint(z);
  return uintBitsToFloat(t_is_nan(x) ? floatBitsToUint(x) : bits);
}
float t_tanh(float x) {
  uint u = floatBitsToUint(x);
  precise float c = t_clamp_magnitude(abs(x), 10.0f) * -2.0f;
  precise float shifted = t_shift_whole(c * 1.44269504f);
  precise float n = t_whole(shifted);
  precise float r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  precise float p = r + (r * r) * t_exp_series(r);
  precise float s = t_exp2i(t_whole_int(shifted));
  precise float t = s * p + (s - 1.0f);
  precise float e = s * p + s;
  precise float d = 2.0f + t;
  precise float inverse = t_rcp_1_2(d);
  precise float low = -(t * inverse);
  precise float high = 1.0f - (e + e) * inverse;
  uint bits = (u & 0x7fffffffu) < 0x3f0ccccdu ? floatBitsToUint(low) : floatBitsToUint(high);
  bits = bits | (u & 0x80000000u);
  bits = (u & 0x7fffffffu) < 0x39000000u ? u : bits;
  return uintBitsToFloat(t_is_nan(x) ? u : bits);
}
float t_erf(float x) {
  uint u = floatBitsToUint(x);
  precise float a = t_clamp_magnitude(abs(x), 3.92f);
  precise float z = a * a;
  precise float p = -7.997853e-4f + z * 7.806903e-5f;
  p = 5.187162e-3f + z * p;
  p = -2.6853347e-2f + z * p;
  p = 0.11283579f + z * p;
  p = -0.37612626f + z * p;
  p = 0.12837917f + z * p;
  precise float e = a * 8.0f;
  p = (e + e * p) * 0.125f;
  precise float t = a - 2.5f;
  precise float q = 2.080133e-5f - t * 9.310861e-6f;
  q = 6.2976076e-5f + t * q;
  q = -2.7754446e-4f + t * q;
  q = 2.841299e-4f + t * q;
  q = 5.6751753e-4f + t * q;
  q = -2.8158126e-3f + t * q;
  q = 6.1059706e-3f + t * q;
  q = -8.616329e-3f + t * q;
  q = 8.352096e-3f + t * q;
  q = -5.4465355e-3f + t * q;
  q = 2.1782378e-3f + t * q;
  q = 0.9995931f + t * q;
  q = t_clamp_magnitude(q, 1.0f);
  uint bits = floatBitsToUint(a) < 0x3f800000u ? floatBitsToUint(p) : floatBitsToUint(q);
  bits = bits | (u & 0x80000000u);
  return uintBitsToFloat(t_is_nan(x) ? u : bits);
}
struct t_angle {
  float r;
  float low;
  int quadrant;
};
t_angle t_reduce_angle(float x) {
  uint u = floatBitsToUint(x);
  uint mantissa = (u & 0x007fffffu) | 0x00800000u;
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
  uint lifted = high + 0x20000000u;
  int whole = int(lifted >> 30u);
  int fraction = int(lifted & 0x3fffffffu) - 0x20000000;
  bool negative = fraction < 0;
  int top = negative ? ~fraction + (low == 0u ? 1 : 0) : fraction;
  uint rest = negative ? 0u - low : low;
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
  bool small = (u & 0x7fffffffu) < 0x3f490fdbu;
  t_angle angle;
  angle.r = small ? x : (flip ? -r : r);
  angle.low = small ? 0.0f : (flip ? -r_low : r_low);
  angle.quadrant = small ? 0 : (u >= 0x80000000u ? -whole : whole);
  return angle;
}
float t_sin_series(float r, float low) {
  precise float z = r * r;
  precise float p = 8.332188e-3f - z * 1.95181e-4f;
  p = -0.16666655f + z * p;
  precise float y = r + (low + (r * z) * p);
  return y;
}
float t_cos_series(float r, float low) {
  precise float z = r * r;
  precise float p = -1.3887311e-3f + z * 2.4432553e-5f;
  p = 4.1666646e-2f + z * p;
  precise float h = 0.5f * z;
  precise float c = 1.0f - h;
  precise float y = c + (((1.0f - c) - h) + ((z * z) * p - r * low));
  return y;
}
float t_sin(float x) {
  t_angle t = t_reduce_angle(x);
  precise float s = t_sin_series(t.r, t.low);
  precise float c = t_cos_series(t.r, t.low);
  uint u = floatBitsToUint(x);
  uint bits = (t.quadrant & 1) != 0 ? floatBitsToUint(c) : floatBitsToUint(s);
  bits = bits ^ (uint(t.quadrant & 2) << 30u);
  bits = (u & 0x7fffffffu) < 0x39800000u ? u : bits;
  return uintBitsToFloat((u & 0x7fffffffu) >= 0x7f800000u ? 0x7fc00000u : bits);
}
float t_cos(float x) {
  t_angle t = t_reduce_angle(x);
  precise float s = t_sin_series(t.r, t.low);
  precise float c = t_cos_series(t.r, t.low);
  uint bits = (t.quadrant & 1) != 0 ? floatBitsToUint(s) : floatBitsToUint(c);
  bits = bits ^ (uint((t.quadrant + 1) & 2) << 30u);
  return uintBitsToFloat(t_is_finite(x) ? bits : 0x7fc00000u);
}
float t_tan(float x) {
  t_angle t = t_reduce_angle(x);
  precise float s = t_sin_series(t.r, t.low);
  precise float c = t_cos_series(t.r, t.low);
  bool odd = (t.quadrant & 1) != 0;
  precise float y = t_div(odd ? -c : s, odd ? s : c);
  uint u = floatBitsToUint(x);
  uint bits = (u & 0x7fffffffu) < 0x39000000u ? u : floatBitsToUint(y);
  return uintBitsToFloat((u & 0x7fffffffu) >= 0x7f800000u ? 0x7fc00000u : bits);
}
float t_scaled_up(uint u) {
  precise float denormal = float(u) * 2.5849394e-26f;
  precise float normal = uintBitsToFloat(u) * 1.8446744e19f;
  return u < 0x00800000u ? denormal : normal;
}
float t_atan2(float y, float x) {
  uint uy = floatBitsToUint(y) & 0x7fffffffu;
  uint ux = floatBitsToUint(x) & 0x7fffffffu;
  bool left = floatBitsToInt(x) < 0;
  bool steep = uy > ux;
  uint big = steep ? uy : ux;
  uint little = steep ? ux : uy;
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
float t_atan(float x) { return t_atan2(x, 1.0f); }
float t_rsqrt(float a) { return t_div(1.0f, t_sqrt(a)); }
struct t_logarithm {
  float high;
  float low;
};
t_logarithm t_log2(uint bits) {
  bool tiny = bits < 0x00800000u;
  precise float scaled = float(int(bits & 0x007fffffu));
  int lifted = int(tiny ? floatBitsToUint(scaled) : bits) - 0x3f3504f3;
  precise float n = float((lifted >> 23) - (tiny ? 149 : 0));
  precise float m = intBitsToFloat((lifted & 0x007fffff) + 0x3f3504f3);
  precise float u = m - 1.0f;
  precise float d = m + 1.0f;
  precise float d1 = t_high_half(d);
  precise float d2 = m - (d1 - 1.0f);
  bool wide = d >= 2.0f;
  precise float inverse = t_rcp_1_2(wide ? 0.5f * d : d);
  inverse = wide ? 0.5f * inverse : inverse;
  precise float s = u * inverse;
  precise float s1 = t_high_half(s);
  precise float s2 = ((u - s1 * d1) - s1 * d2) * inverse;
  precise float z = s * s;
  precise float z1 = s1 * s1;
  precise float z3 = t_high_half(z1);
  precise float z2 = (z1 - z3) + s2 * (s1 + s);
  precise float q = 0.411848068f + z * 0.337858677f;
  q = 0.57708019f + z * q;
  precise float t1 = z3 * 0.961669921875f;
  precise float t2 = z2 * 0.961669921875f + z * (0.000126772051f + z * q);
  precise float t3 = t_high_half(t1);
  precise float p1 = s1 * 2.884765625f;
  precise float p2 = s1 * t3;
  precise float p3 = s1 * (0.000624456792f + (t2 + (t1 - t3))) + s2 * (2.88539004f + (t1 + t2));
  precise float h = p1 + p2;
  precise float l = (p2 - (h - p1)) + p3;
  precise float sum = n + h;
  l = (h - (sum - n)) + l;
  precise float high = sum + l;
  precise float low = l - (high - sum);
  t_logarithm log;
  log.high = high;
  log.low = low;
  return log;
}
float t_pow(float x, float y) {
  uint ux = floatBitsToUint(x) & 0x7fffffffu;
  uint uy = floatBitsToUint(y) & 0x7fffffffu;
  t_logarithm log = t_log2(ux);
  precise float w = uintBitsToFloat((uy < 0x51800000u ? uy : 0x51800000u) |
                                    (floatBitsToUint(y) & 0x80000000u));
  precise float w1 = t_high_half(w);
  precise float w2 = w - w1;
  precise float h1 = t_high_half(log.high);
  precise float h2 = log.high - h1;
  precise float p = log.high * w;
  precise float e = (((h1 * w1 - p) + h1 * w2) + h2 * w1) + h2 * w2;
  e = e + log.low * w;
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
float t_cbrt(float x) {
  uint u = floatBitsToUint(x) & 0x7fffffffu;
  bool tiny = u < 0x00800000u;
  precise float scaled = float(int(u & 0x007fffffu));
  uint n = tiny ? floatBitsToUint(scaled) : u;
  int e = int(n >> 23u) - (tiny ? 149 : 0) + 173;
  int third = (e * 43691) >> 17;
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
uint t_f32_to_bf16(float a) {
  uint u = floatBitsToUint(a);
  uint rounded = (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
  uint nan = (u >> 16u) | 0x40u;
  return t_is_nan(a) ? nan : rounded;
}
float t_bf16_to_f32(uint a) { return uintBitsToFloat(a << 16u); }
float t_round_bf16(float a) { return uintBitsToFloat(t_f32_to_bf16(a) << 16u); }
float t_f16_to_f32(uint a) {
  uint magnitude = a & 0x7fffu;
  precise float tiny = float(int(magnitude)) * 5.9604645e-8f;
  uint low = floatBitsToUint(tiny);
  uint normal = (magnitude << 13u) + 0x38000000u;
  uint high = (magnitude << 13u) | 0x7f800000u;
  uint bits = magnitude < 0x400u ? low : normal;
  bits = magnitude >= 0x7c00u ? high : bits;
  return uintBitsToFloat(bits | ((a & 0x8000u) << 16u));
}
uint t_f32_to_f16(float a) {
  uint u = floatBitsToUint(a);
  uint magnitude = u & 0x7fffffffu;
  precise float shifted = uintBitsToFloat(magnitude < 0x38800000u ? magnitude : 0u) + 0.5f;
  uint tiny = floatBitsToUint(shifted) - 0x3f000000u;
  uint normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13u) & 1u)) >> 13u;
  uint nan = 0x7e00u | ((magnitude >> 13u) & 0x1ffu);
  uint bits = magnitude < 0x38800000u ? tiny : normal;
  bits = magnitude >= 0x477ff000u ? 0x7c00u : bits;
  bits = magnitude > 0x7f800000u ? nan : bits;
  return bits | ((u >> 16u) & 0x8000u);
}
float t_round_f16(float a) { return t_f16_to_f32(t_f32_to_f16(a)); }
uint t_f32x2_to_f16(float a, float b) { return t_f32_to_f16(a) | (t_f32_to_f16(b) << 16u); }
uint t_f16_bits(float a) { return t_f32_to_f16(a); }
int t_f32_to_i32(float a) {
  precise float c = a > -2147483648.0f ? a : -2147483648.0f;
  c = c < 2147483520.0f ? c : 2147483520.0f;
  int i = int(t_is_nan(a) ? 0.0f : c);
  return a >= 2147483648.0f ? 2147483647 : i;
}
uint t_f32_to_u32(float a) {
  precise float c = a > 0.0f ? a : 0.0f;
  c = c < 4294967040.0f ? c : 4294967040.0f;
  uint i = uint(t_is_nan(a) ? 0.0f : c);
  return a >= 4294967296.0f ? 0xffffffffu : i;
}
int t_f32_to_int_range(float a, float low, float high) {
  precise float c = a > low ? a : low;
  c = c < high ? c : high;
  return int(t_is_nan(a) ? 0.0f : c);
}
int t_f32_to_i8(float a) { return t_f32_to_int_range(a, -128.0f, 127.0f); }
int t_f32_to_i16(float a) { return t_f32_to_int_range(a, -32768.0f, 32767.0f); }
uint t_f32_to_u8(float a) { return uint(t_f32_to_int_range(a, 0.0f, 255.0f)); }
uint t_f32_to_u16(float a) { return uint(t_f32_to_int_range(a, 0.0f, 65535.0f)); }
bool t_f32_to_bool(float a) { return (floatBitsToUint(a) & 0x7fffffffu) != 0u; }
int t_wrap_i8(int a) { return (a << 24) >> 24; }
int t_wrap_i16(int a) { return (a << 16) >> 16; }
uint t_wrap_u8(uint a) { return a & 0xffu; }
uint t_wrap_u16(uint a) { return a & 0xffffu; }
float t_i32_to_f32(int a) {
  precise float y = float(a >> 16) * 65536.0f + float(a & 0xffff);
  return y;
}
float t_u32_to_f32(uint a) {
  precise float y = float(int(a >> 16u)) * 65536.0f + float(int(a & 0xffffu));
  return y;
}
float t_u32_to_f32_odd(uint a) {
  uint sticky = (a & 0xffu) != 0u ? 0x100u : 0u;
  return t_u32_to_f32(a < 0x1000000u ? a : (a & 0xffffff00u) | sticky);
}
float t_i32_to_f32_odd(int a) {
  float y = t_u32_to_f32_odd(a < 0 ? 0u - uint(a) : uint(a));
  return a < 0 ? -y : y;
}
float t_bool_to_f32(bool a) { return a ? 1.0f : 0.0f; }
bool convert_0_0(bool v) { return v; }
int convert_0_1(bool v) { return t_wrap_i8(int(int(v))); }
int convert_0_2(bool v) { return t_wrap_i16(int(int(v))); }
int convert_0_3(bool v) { return int(int(v)); }
uint convert_0_5(bool v) { return t_wrap_u8(uint(int(v))); }
uint convert_0_6(bool v) { return t_wrap_u16(uint(int(v))); }
uint convert_0_7(bool v) { return uint(int(v)); }
float convert_0_9(bool v) { return t_round_f16(float(int(v))); }
float convert_0_10(bool v) { return t_round_bf16(float(int(v))); }
float convert_0_11(bool v) { return float(int(v)); }
bool convert_1_0(int v) { return (v != int(0)); }
int convert_1_1(int v) { return v; }
int convert_1_2(int v) { return t_wrap_i16(v); }
int convert_1_3(int v) { return v; }
uint convert_1_5(int v) { return t_wrap_u8(uint(v)); }
uint convert_1_6(int v) { return t_wrap_u16(uint(v)); }
uint convert_1_7(int v) { return uint(v); }
float convert_1_9(int v) { return t_round_f16(t_i32_to_f32(v)); }
float convert_1_10(int v) { return t_round_bf16(t_i32_to_f32(v)); }
float convert_1_11(int v) { return t_i32_to_f32(v); }
bool convert_2_0(int v) { return (v != int(0)); }
int convert_2_1(int v) { return t_wrap_i8(v); }
int convert_2_2(int v) { return v; }
int convert_2_3(int v) { return v; }
uint convert_2_5(int v) { return t_wrap_u8(uint(v)); }
uint convert_2_6(int v) { return t_wrap_u16(uint(v)); }
uint convert_2_7(int v) { return uint(v); }
float convert_2_9(int v) { return t_round_f16(t_i32_to_f32(v)); }
float convert_2_10(int v) { return t_round_bf16(t_i32_to_f32(v)); }
float convert_2_11(int v) { return t_i32_to_f32(v); }
bool convert_3_0(int v) { return (v != int(0)); }
int convert_3_1(int v) { return t_wrap_i8(v); }
int convert_3_2(int v) { return t_wrap_i16(v); }
int convert_3_3(int v) { return v; }
uint convert_3_5(int v) { return t_wrap_u8(uint(v)); }
uint convert_3_6(int v) { return t_wrap_u16(uint(v)); }
uint convert_3_7(int v) { return uint(v); }
float convert_3_9(int v) { return t_round_f16(t_i32_to_f32(v)); }
float convert_3_10(int v) { return t_round_bf16(t_i32_to_f32_odd(v)); }
float convert_3_11(int v) { return t_i32_to_f32(v); }
bool convert_5_0(uint v) { return (v != uint(0)); }
int convert_5_1(uint v) { return t_wrap_i8(int(v)); }
int convert_5_2(uint v) { return t_wrap_i16(int(v)); }
int convert_5_3(uint v) { return int(v); }
uint convert_5_5(uint v) { return v; }
uint convert_5_6(uint v) { return t_wrap_u16(v); }
uint convert_5_7(uint v) { return v; }
float convert_5_9(uint v) { return t_round_f16(t_u32_to_f32(v)); }
float convert_5_10(uint v) { return t_round_bf16(t_u32_to_f32(v)); }
float convert_5_11(uint v) { return t_u32_to_f32(v); }
bool convert_6_0(uint v) { return (v != uint(0)); }
int convert_6_1(uint v) { return t_wrap_i8(int(v)); }
int convert_6_2(uint v) { return t_wrap_i16(int(v)); }
int convert_6_3(uint v) { return int(v); }
uint convert_6_5(uint v) { return t_wrap_u8(v); }
uint convert_6_6(uint v) { return v; }
uint convert_6_7(uint v) { return v; }
float convert_6_9(uint v) { return t_round_f16(t_u32_to_f32(v)); }
float convert_6_10(uint v) { return t_round_bf16(t_u32_to_f32(v)); }
float convert_6_11(uint v) { return t_u32_to_f32(v); }
bool convert_7_0(uint v) { return (v != uint(0)); }
int convert_7_1(uint v) { return t_wrap_i8(int(v)); }
int convert_7_2(uint v) { return t_wrap_i16(int(v)); }
int convert_7_3(uint v) { return int(v); }
uint convert_7_5(uint v) { return t_wrap_u8(v); }
uint convert_7_6(uint v) { return t_wrap_u16(v); }
uint convert_7_7(uint v) { return v; }
float convert_7_9(uint v) { return t_round_f16(t_u32_to_f32(v)); }
float convert_7_10(uint v) { return t_round_bf16(t_u32_to_f32_odd(v)); }
float convert_7_11(uint v) { return t_u32_to_f32(v); }
bool convert_9_0(float v) { return t_f32_to_bool(v); }
int convert_9_1(float v) { return t_f32_to_i8(v); }
int convert_9_2(float v) { return t_f32_to_i16(v); }
int convert_9_3(float v) { return t_f32_to_i32(v); }
uint convert_9_5(float v) { return t_f32_to_u8(v); }
uint convert_9_6(float v) { return t_f32_to_u16(v); }
uint convert_9_7(float v) { return t_f32_to_u32(v); }
float convert_9_9(float v) { return v; }
float convert_9_10(float v) { return t_round_bf16(v); }
float convert_9_11(float v) { return v; }
bool convert_10_0(float v) { return t_f32_to_bool(v); }
int convert_10_1(float v) { return t_f32_to_i8(v); }
int convert_10_2(float v) { return t_f32_to_i16(v); }
int convert_10_3(float v) { return t_f32_to_i32(v); }
uint convert_10_5(float v) { return t_f32_to_u8(v); }
uint convert_10_6(float v) { return t_f32_to_u16(v); }
uint convert_10_7(float v) { return t_f32_to_u32(v); }
float convert_10_9(float v) { return t_round_f16(v); }
float convert_10_10(float v) { return v; }
float convert_10_11(float v) { return v; }
bool convert_11_0(float v) { return t_f32_to_bool(v); }
int convert_11_1(float v) { return t_f32_to_i8(v); }
int convert_11_2(float v) { return t_f32_to_i16(v); }
int convert_11_3(float v) { return t_f32_to_i32(v); }
uint convert_11_5(float v) { return t_f32_to_u8(v); }
uint convert_11_6(float v) { return t_f32_to_u16(v); }
uint convert_11_7(float v) { return t_f32_to_u32(v); }
float convert_11_9(float v) { return t_round_f16(v); }
float convert_11_10(float v) { return t_round_bf16(v); }
float convert_11_11(float v) { return v; }
layout(binding = 0) buffer B { uint b[]; };
void main() {
  uint r = b[0];
  r += uint(t_max(int(r), int(r)));
  r += uint(t_max(uint(r), uint(r)));
  r += uint(t_min(int(r), int(r)));
  r += uint(t_min(uint(r), uint(r)));
  r += uint(t_sign(int(r)));
  r += uint(t_sign(uint(r)));
  r += uint(t_div(uint(r), uint(r)));
  r += uint(t_div(int(r), int(r)));
  r += uint(t_rem(uint(r), uint(r)));
  r += uint(t_rem(int(r), int(r)));
  r += uint(t_shl(uint(r), uint(r)));
  r += uint(t_shl(int(r), int(r)));
  r += uint(t_sra(int(r), int(r), int(r)));
  r += uint(t_sra(uint(r), uint(r), int(r)));
  r += uint(t_low_bits(uint(r), int(r)));
  r += uint(t_srl(uint(r), uint(r), int(r)));
  r += uint(t_srl(int(r), int(r), int(r)));
  r += uint(t_popcnt(uint(r), int(r)));
  r += uint(t_clz(uint(r), int(r)));
  r += uint(t_ipow(uint(r), uint(r)));
  r += uint(t_ipow(int(r), int(r)));
  r += uint(t_umulhi(uint(r), uint(r)));
  r += uint(t_imulhi(int(r), int(r)));
  r += uint(t_is_nan(float(r)));
  r += uint(t_is_inf(float(r)));
  r += uint(t_is_finite(float(r)));
  r += uint(t_ne(float(r), float(r)));
  r += uint(t_total_order(float(r)));
  r += uint(t_max_key(float(r)));
  r += uint(t_min_key(float(r)));
  r += uint(t_max(float(r), float(r)));
  r += uint(t_min(float(r), float(r)));
  r += uint(t_sign(float(r)));
  r += uint(t_round_even(float(r)));
  r += uint(t_round_afz(float(r)));
  r += uint(t_reduce_precision(float(r), int(r), int(r)));
  r += uint(t_clamp_magnitude(float(r), float(r)));
  r += uint(t_exp2i(int(r)));
  r += uint(t_shift_whole(float(r)));
  r += uint(t_whole(float(r)));
  r += uint(t_whole_int(float(r)));
  r += uint(t_high_half(float(r)));
  r += uint(t_right_reciprocal(float(r), float(r), float(r)));
  r += uint(t_normalise(uint(r)));
  r += uint(t_exponent(uint(r)));
  r += uint(t_quotient_of(float(r), float(r), uint(r)));
  r += uint(t_div_bits(float(r), float(r)));
  r += uint(t_root_of(float(r), uint(r)));
  r += uint(t_sqrt_bits(float(r)));
  r += uint(t_rem_bits(float(r), float(r)));
  r += uint(t_size_is_in(float(r), uint(r), uint(r)));
  r += uint(t_div_fused(float(r), float(r), float(r)));
  r += uint(t_mantissa(float(r)));
  r += uint(t_scaled_quotient(float(r), float(r), float(r), float(r)));
  r += uint(t_sqrt_fused(float(r), float(r)));
  r += uint(t_div(float(r), float(r)));
  r += uint(t_sqrt(float(r)));
  r += uint(t_rem(float(r), float(r)));
  r += uint(t_rcp_1_2(float(r)));
  r += uint(t_exp_series(float(r)));
  r += uint(t_exp(float(r)));
  r += uint(t_expm1(float(r)));
  r += uint(t_log_series(float(r)));
  r += uint(t_log(float(r)));
  r += uint(t_log1p(float(r)));
  r += uint(t_logistic(float(r)));
  r += uint(t_tanh(float(r)));
  r += uint(t_erf(float(r)));
  r += uint(t_reduce_angle(float(r)).quadrant);
  r += uint(t_sin_series(float(r), float(r)));
  r += uint(t_cos_series(float(r), float(r)));
  r += uint(t_sin(float(r)));
  r += uint(t_cos(float(r)));
  r += uint(t_tan(float(r)));
  r += uint(t_scaled_up(uint(r)));
  r += uint(t_atan2(float(r), float(r)));
  r += uint(t_atan(float(r)));
  r += uint(t_rsqrt(float(r)));
  r += uint(t_log2(uint(r)));
  r += uint(t_pow(float(r), float(r)));
  r += uint(t_cbrt(float(r)));
  r += uint(t_f32_to_bf16(float(r)));
  r += uint(t_bf16_to_f32(uint(r)));
  r += uint(t_round_bf16(float(r)));
  r += uint(t_f16_to_f32(uint(r)));
  r += uint(t_f32_to_f16(float(r)));
  r += uint(t_round_f16(float(r)));
  r += uint(t_f32x2_to_f16(float(r), float(r)));
  r += uint(t_f16_bits(float(r)));
  r += uint(t_f32_to_i32(float(r)));
  r += uint(t_f32_to_u32(float(r)));
  r += uint(t_f32_to_int_range(float(r), float(r), float(r)));
  r += uint(t_f32_to_i8(float(r)));
  r += uint(t_f32_to_i16(float(r)));
  r += uint(t_f32_to_u8(float(r)));
  r += uint(t_f32_to_u16(float(r)));
  r += uint(t_f32_to_bool(float(r)));
  r += uint(t_wrap_i8(int(r)));
  r += uint(t_wrap_i16(int(r)));
  r += uint(t_wrap_u8(uint(r)));
  r += uint(t_wrap_u16(uint(r)));
  r += uint(t_i32_to_f32(int(r)));
  r += uint(t_u32_to_f32(uint(r)));
  r += uint(t_u32_to_f32_odd(uint(r)));
  r += uint(t_i32_to_f32_odd(int(r)));
  r += uint(t_bool_to_f32(bool(r)));
  r += uint(convert_0_0(bool(r)));
  r += uint(convert_0_1(bool(r)));
  r += uint(convert_0_2(bool(r)));
  r += uint(convert_0_3(bool(r)));
  r += uint(convert_0_5(bool(r)));
  r += uint(convert_0_6(bool(r)));
  r += uint(convert_0_7(bool(r)));
  r += uint(convert_0_9(bool(r)));
  r += uint(convert_0_10(bool(r)));
  r += uint(convert_0_11(bool(r)));
  r += uint(convert_1_0(int(r)));
  r += uint(convert_1_1(int(r)));
  r += uint(convert_1_2(int(r)));
  r += uint(convert_1_3(int(r)));
  r += uint(convert_1_5(int(r)));
  r += uint(convert_1_6(int(r)));
  r += uint(convert_1_7(int(r)));
  r += uint(convert_1_9(int(r)));
  r += uint(convert_1_10(int(r)));
  r += uint(convert_1_11(int(r)));
  r += uint(convert_2_0(int(r)));
  r += uint(convert_2_1(int(r)));
  r += uint(convert_2_2(int(r)));
  r += uint(convert_2_3(int(r)));
  r += uint(convert_2_5(int(r)));
  r += uint(convert_2_6(int(r)));
  r += uint(convert_2_7(int(r)));
  r += uint(convert_2_9(int(r)));
  r += uint(convert_2_10(int(r)));
  r += uint(convert_2_11(int(r)));
  r += uint(convert_3_0(int(r)));
  r += uint(convert_3_1(int(r)));
  r += uint(convert_3_2(int(r)));
  r += uint(convert_3_3(int(r)));
  r += uint(convert_3_5(int(r)));
  r += uint(convert_3_6(int(r)));
  r += uint(convert_3_7(int(r)));
  r += uint(convert_3_9(int(r)));
  r += uint(convert_3_10(int(r)));
  r += uint(convert_3_11(int(r)));
  r += uint(convert_5_0(uint(r)));
  r += uint(convert_5_1(uint(r)));
  r += uint(convert_5_2(uint(r)));
  r += uint(convert_5_3(uint(r)));
  r += uint(convert_5_5(uint(r)));
  r += uint(convert_5_6(uint(r)));
  r += uint(convert_5_7(uint(r)));
  r += uint(convert_5_9(uint(r)));
  r += uint(convert_5_10(uint(r)));
  r += uint(convert_5_11(uint(r)));
  r += uint(convert_6_0(uint(r)));
  r += uint(convert_6_1(uint(r)));
  r += uint(convert_6_2(uint(r)));
  r += uint(convert_6_3(uint(r)));
  r += uint(convert_6_5(uint(r)));
  r += uint(convert_6_6(uint(r)));
  r += uint(convert_6_7(uint(r)));
  r += uint(convert_6_9(uint(r)));
  r += uint(convert_6_10(uint(r)));
  r += uint(convert_6_11(uint(r)));
  r += uint(convert_7_0(uint(r)));
  r += uint(convert_7_1(uint(r)));
  r += uint(convert_7_2(uint(r)));
  r += uint(convert_7_3(uint(r)));
  r += uint(convert_7_5(uint(r)));
  r += uint(convert_7_6(uint(r)));
  r += uint(convert_7_7(uint(r)));
  r += uint(convert_7_9(uint(r)));
  r += uint(convert_7_10(uint(r)));
  r += uint(convert_7_11(uint(r)));
  r += uint(convert_9_0(float(r)));
  r += uint(convert_9_1(float(r)));
  r += uint(convert_9_2(float(r)));
  r += uint(convert_9_3(float(r)));
  r += uint(convert_9_5(float(r)));
  r += uint(convert_9_6(float(r)));
  r += uint(convert_9_7(float(r)));
  r += uint(convert_9_9(float(r)));
  r += uint(convert_9_10(float(r)));
  r += uint(convert_9_11(float(r)));
  r += uint(convert_10_0(float(r)));
  r += uint(convert_10_1(float(r)));
  r += uint(convert_10_2(float(r)));
  r += uint(convert_10_3(float(r)));
  r += uint(convert_10_5(float(r)));
  r += uint(convert_10_6(float(r)));
  r += uint(convert_10_7(float(r)));
  r += uint(convert_10_9(float(r)));
  r += uint(convert_10_10(float(r)));
  r += uint(convert_10_11(float(r)));
  r += uint(convert_11_0(float(r)));
  r += uint(convert_11_1(float(r)));
  r += uint(convert_11_2(float(r)));
  r += uint(convert_11_3(float(r)));
  r += uint(convert_11_5(float(r)));
  r += uint(convert_11_6(float(r)));
  r += uint(convert_11_7(float(r)));
  r += uint(convert_11_9(float(r)));
  r += uint(convert_11_10(float(r)));
  r += uint(convert_11_11(float(r)));
  b[0] = r;
}
