// Float operations that need no series. NaN tests go by bits: drivers may assume
// that NaN does not occur, and GLSL's min, max and sign lose it.

T_FN bool t_is_nan(float a) { return (floatBitsToUint(a) & 0x7fffffffu) > 0x7f800000u; }
T_FN bool t_is_inf(float a) { return (floatBitsToUint(a) & 0x7fffffffu) == 0x7f800000u; }
T_FN bool t_is_finite(float a) { return (floatBitsToUint(a) & 0x7fffffffu) < 0x7f800000u; }

// Not equal; true when either is NaN.
T_FN bool t_ne(float a, float b) { return t_is_nan(a) || t_is_nan(b) || a != b; }

// Signed integers in the order of IEEE's totalOrder.
T_FN int t_total_order(float a) {
  int i = floatBitsToInt(a);
  return i ^ ((i >> 31) & 0x7fffffff);
}

// Keys for maximum and minimum: unsigned integers in the order of the values,
// -0 below +0, with every NaN above (or below) all of them.
T_FN uint t_max_key(float a) { return uint(t_total_order(a)) + 0x7f800001u; }
T_FN uint t_min_key(float a) { return uint(t_total_order(a)) + 0x807fffffu; }

// NaN if either is; +0 > -0. Integer compares only: a driver that drops NaN or
// flushes denormals in float compares still picks the right operand.
T_FN float t_max(float a, float b) { return t_max_key(a) >= t_max_key(b) ? a : b; }
T_FN float t_min(float a, float b) { return t_min_key(a) <= t_min_key(b) ? a : b; }

// 1 or -1; zeros and NaN are themselves.
T_FN float t_sign(float a) {
  uint u = floatBitsToUint(a);
  uint magnitude = u & 0x7fffffffu;
  bool keep = magnitude == 0u || magnitude > 0x7f800000u;
  return uintBitsToFloat(keep ? u : ((u & 0x80000000u) | 0x3f800000u));
}

T_FN float t_round_even(float a) { return roundEven(a); }
// Nearest integer, halves away from zero. a - trunc(a) is exact.
T_FN float t_round_afz(float a) {
  precise float whole = trunc(a);
  precise float rest = abs(a - whole);
  precise float away = whole + uintBitsToFloat((floatBitsToUint(a) & 0x80000000u) | 0x3f800000u);
  uint bits = floatBitsToInt(rest) >= 0x3f000000 ? floatBitsToUint(away) : floatBitsToUint(whole);
  return uintBitsToFloat((bits & 0x7fffffffu) | (floatBitsToUint(a) & 0x80000000u));
}

// The value a format of the given widths would keep: round to nearest even in
// the mantissa, then overflow to infinity and underflow to zero in the exponent.
T_FN float t_reduce_precision(float a, int exponent_bits, int mantissa_bits) {
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
  uint nan = mantissa_bits > 0 ? u : (sign | 0x7f800000u);  // without a mantissa: infinity
  return uintBitsToFloat(t_is_nan(a) ? nan : ranged);
}

// x with its magnitude at most `most`; also of infinities and NaN. As are most
// selections here, it is by integers: flushing drivers and NaN cannot disturb it, and
// compilers turn it into a select where a float compare, which may trap, is a branch.
T_FN float t_clamp_magnitude(float x, float most) {
  uint u = floatBitsToUint(x);
  uint size = u & 0x7fffffffu;
  size = size < floatBitsToUint(most) ? size : floatBitsToUint(most);
  return uintBitsToFloat(size | (u & 0x80000000u));
}

// 2^n for -126 <= n <= 127.
T_FN float t_exp2i(int n) { return intBitsToFloat((n + 127) << 23); }

// x + 1.5 * 2^23 for |x| < 2^21: rounded to the integer next to x, which is in its low bits. To
// round and to convert take devices several times as long as these sums.
T_FN float t_shift_whole(float x) {
  precise float shifted = x + 12582912.0f;
  return shifted;
}
// That integer as a float, and as an int.
T_FN float t_whole(float shifted) {
  precise float whole = shifted - 12582912.0f;
  return whole;
}
T_FN int t_whole_int(float shifted) { return floatBitsToInt(shifted) - 0x4b400000; }

// The top 12 bits of a float; what is left has 12 bits too, so that products of
// halves are exact without fma (which devices may round twice).
T_FN float t_high_half(float a) { return uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u); }

// y, which is 1 / d in [1/2, 1] or an ulp, 2^-24, beside it, rounded right by its exact residual
// r = 1 - d y: of the right one that is at most d 2^-25.
T_FN float t_right_reciprocal(float d, float y, float r) {
  float most = d * 2.98023224e-8f;
  precise float right = y + (r > most ? 5.96046448e-8f : r < -most ? -5.96046448e-8f : 0.0f);
  return right;
}
