// Division, square root and remainder exactly as IEEE 754 rounds them, denormals
// included. Vulkan allows the device's own quotient 2.5 ulp and its sqrt more, so
// that serves as a guess for the 24-bit integer result; the remainder of the guess,
// which fits 32 bits whatever the guess's error, repairs it.

// The finite magnitude `bits` with its mantissa normalised; the exponent of the
// result is 149 too high where `bits` is a denormal.
T_FN uint t_normalise(uint bits) {
  precise float scaled = float(int(bits & 0x007fffffu));
  return bits < 0x00800000u ? floatBitsToUint(scaled) : bits;
}

// The exponent of the finite magnitude `bits`, 127 of 1, as if denormals had more of them.
T_FN int t_exponent(uint bits) {
  return int(t_normalise(bits) >> 23u) - (bits < 0x00800000u ? 149 : 0);
}

// a / b where its magnitude is `bits` for finite operands: with its sign, and for zeros,
// infinities and NaN.
T_FN float t_quotient_of(float a, float b, uint bits) {
  uint ua = floatBitsToUint(a) & 0x7fffffffu;
  uint ub = floatBitsToUint(b) & 0x7fffffffu;
  uint sign = (floatBitsToUint(a) ^ floatBitsToUint(b)) & 0x80000000u;
  bits = (ua == 0u || ub == 0x7f800000u) ? 0u : bits;
  bits = (ub == 0u || ua == 0x7f800000u) ? 0x7f800000u : bits;
  bool nan = ua > 0x7f800000u || ub > 0x7f800000u || (ua == 0u && ub == 0u) ||
             (ua == 0x7f800000u && ub == 0x7f800000u);
  return uintBitsToFloat(nan ? 0x7fc00000u : (bits | sign));
}

T_FN float t_div_bits(float a, float b) {
  uint ua = floatBitsToUint(a) & 0x7fffffffu;
  uint ub = floatBitsToUint(b) & 0x7fffffffu;
  int ea = t_exponent(ua);
  int eb = t_exponent(ub);
  uint ma = (t_normalise(ua) & 0x007fffffu) | 0x00800000u;
  uint mb = (t_normalise(ub) & 0x007fffffu) | 0x00800000u;
  // quotient = floor(ma 2^shift / mb), 24 bits; rest = ma 2^shift - quotient mb
  // modulo 2^32, where it is small.
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
  // Round to nearest even; below the normal range after dropping bits.
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

// The root of a where it is `bits` for positive finite a.
T_FN float t_root_of(float a, uint bits) {
  uint u = floatBitsToUint(a);
  bits = (u & 0x7fffffffu) == 0u ? u : bits;  // the root of -0 is -0
  bits = u >= 0x7f800000u && u != 0x80000000u ? 0x7fc00000u : bits;
  return uintBitsToFloat(u == 0x7f800000u ? u : bits);
}

T_FN float t_sqrt_bits(float a) {
  uint u = floatBitsToUint(a) & 0x7fffffffu;
  uint n = t_normalise(u);
  int e = t_exponent(u) - 127;
  // a = m 2^-23 4^(e / 2), the root is sqrt(m 2^23) 2^-23 2^(e / 2).
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

// C's fmod: long division of the mantissas, 8 bits a step. Exact, so the CPU's own
// fmod gives the same bits.
T_FN float t_rem_bits(float a, float b) {
  uint sign = floatBitsToUint(a) & 0x80000000u;
  uint ua = floatBitsToUint(a) & 0x7fffffffu;
  uint ub = floatBitsToUint(b) & 0x7fffffffu;
  // Integer mantissas at the exponents' own scale; a denormal has exponent 1.
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
  // rest 2^(eb - 150): move the top bit to its place, or stay a denormal.
  precise float scaled = float(int(rest));
  uint place = floatBitsToUint(scaled);
  int e = int(place >> 23u) + int(eb) - 150;
  uint up = uint(int(eb) - 1 < 23 ? int(eb) - 1 : 23);
  uint bits = e > 0 ? (place & 0x007fffffu) | (uint(e) << 23u) : rest << up;
  bits = rest == 0u ? 0u : bits;
  bits = ua < ub ? ua : bits;
  return uintBitsToFloat(nan ? 0x7fc00000u : (bits | sign));
}
