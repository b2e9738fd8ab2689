// What the device may not round itself. The CPU's own operations are exact.
T_FN float t_div(float a, float b) { return t_div_bits(a, b); }
T_FN float t_sqrt(float a) { return t_sqrt_bits(a); }
T_FN float t_rem(float a, float b) { return t_rem_bits(a, b); }

// 1 / d for d in [1, 2]: a quadratic guess (it makes 1 - d y the Chebyshev polynomial
// T3(2d - 3) / -99), a Newton step, and a step whose residual 1 - d y is exact. Only products
// and sums, so every device agrees, where its own division may be 2.5 ulp off.
T_FN float t_rcp_1_2(float d) {
  precise float y = 2.1212121f - d * (1.4545455f - d * 0.32323232f);
  y = y * (2.0f - d * y);
  y = t_high_half(y);
  precise float dh = t_high_half(d);
  precise float dl = d - dh;
  precise float r = (1.0f - dh * y) - dl * y;
  y = y + y * (r + r * r);
  precise float yh = t_high_half(y);
  precise float yl = y - yh;
  r = ((1.0f - dh * yh) - dh * yl - dl * yh) - dl * yl;
  return t_right_reciprocal(d, y, r);
}
