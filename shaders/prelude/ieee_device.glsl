// What the device may not round itself. The CPU's own operations are exact.
T_FN float t_div(float a, float b) { return t_div_bits(a, b); }
T_FN float t_sqrt(float a) { return t_sqrt_bits(a); }
T_FN float t_rem(float a, float b) { return t_rem_bits(a, b); }
