// With e = exp(-2|x|) and t = e - 1, tanh |x| is -t / (2 + t) below 0.55, without
// cancellation, and 1 - 2 e / (2 + t) above, where the errors of the quotient are
// halved or better. The denominator stays in [1, 2].
T_FN float t_tanh(float x) {
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
  bits = (u & 0x7fffffffu) < 0x39000000u ? u : bits;  // below 2^-13 it is x
  return uintBitsToFloat(t_is_nan(x) ? u : bits);
}
