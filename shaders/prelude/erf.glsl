// erf(x) = x + x p(x^2) below 1; above, a polynomial in |x| - 2.5 up to 3.92, past
// which erf rounds to 1. Both are evaluated and one is picked: no branch. The
// coefficients are minimax fits made by fit.py.
T_FN float t_erf(float x) {
  uint u = floatBitsToUint(x);
  precise float a = t_clamp_magnitude(abs(x), 3.92f);
  precise float z = a * a;
  precise float p = -7.997853e-4f + z * 7.806903e-5f;
  p = 5.187162e-3f + z * p;
  p = -2.6853347e-2f + z * p;
  p = 0.11283579f + z * p;
  p = -0.37612626f + z * p;
  p = 0.12837917f + z * p;
  // Of eight times a: a product below the least normal number may become zero on a device.
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
