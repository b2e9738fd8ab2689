// For devices whose fma was seen to round once: ordinary quotients and roots in about twenty
// instructions. The last fma adds the exact remainder of a result that is next to the right one
// (P. Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor",
// 1990).

// |x| lies in [low, low + span), as bits.
T_FN bool t_size_is_in(float x, uint low, uint span) {
  return (floatBitsToUint(x) & 0x7fffffffu) - low < span;
}

// Quotient of a in 2^[-78, 80) or zero by b in 2^[-46, 46); `inverse` is 1 / b, 5 ulp off at
// most. Twice mended it is rounded right, but where b is next to a power of two from below: there
// it is the power of two, and its neighbour is right.
T_FN float t_div_fused(float a, float b, float inverse) {
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
  return uintBitsToFloat(bits);  // the guess has the sign of a zero
}

// The mantissa of a finite number, in [1, 2); of others some number in it.
T_FN float t_mantissa(float a) {
  uint bits = t_normalise(floatBitsToUint(a) & 0x7fffffffu);
  return uintBitsToFloat((bits & 0x007fffffu) | 0x3f800000u);
}

// a / b from the quotient of their mantissas and what that leaves of a's.
T_FN float t_scaled_quotient(float a, float b, float quotient, float rest) {
  uint bits = floatBitsToUint(quotient);
  int ea = t_exponent(floatBitsToUint(a) & 0x7fffffffu);
  int eb = t_exponent(floatBitsToUint(b) & 0x7fffffffu);
  int e = ea - eb + int(bits >> 23u);
  // Round to nearest even once more where the normal range ends; a middle was rounded to
  // already if something is left.
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

// Root of a in 2^[-78, 80); `inverse` is 1 / sqrt(a), 5 ulp off at most.
T_FN float t_sqrt_fused(float a, float inverse) {
  precise float root = a * inverse;
  precise float y = 0.5f * inverse;
  precise float error = fma(-root, y, 0.5f);
  root = fma(root, error, root);
  y = fma(y, error, y);
  precise float rest = fma(-root, root, a);
  root = fma(rest, y, root);
  return root;
}

// The fused quotient of the operands or, out of its range, of their mantissas.
T_FN float t_div(float a, float b) {
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
// The fused root of a or, out of its range, of m where a = m 4^(e / 2) and m is in [1, 4).
T_FN float t_sqrt(float a) {
  bool fits = floatBitsToUint(a) - 0x18800000u < 0x4f000000u;
  int e = t_exponent(floatBitsToUint(a) & 0x7fffffffu) - 127;
  float square = a;
  if (!fits) square = uintBitsToFloat(floatBitsToUint(t_mantissa(a)) + (uint(e & 1) << 23u));
  float root = t_sqrt_fused(square, inversesqrt(square));
  if (!fits) root = t_root_of(a, floatBitsToUint(root) + (uint(e >> 1) << 23u));
  return root;
}
T_FN float t_rem(float a, float b) { return t_rem_bits(a, b); }

// 1 / d for d in [1, 2]: a quadratic guess (it makes 1 - d y the Chebyshev polynomial
// T3(2d - 3) / -99) and two Newton steps.
T_FN float t_rcp_1_2(float d) {
  precise float y = 2.1212121f - d * (1.4545455f - d * 0.32323232f);
  y = fma(fma(-d, y, 1.0f), y, y);
  y = fma(fma(-d, y, 1.0f), y, y);
  precise float r = fma(-d, y, 1.0f);
  return t_right_reciprocal(d, y, r);
}
