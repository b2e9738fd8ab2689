// For devices whose own division and square root were seen to round right.
T_FN float t_div(float a, float b) {
  precise float y = a / b;
  return y;
}
T_FN float t_sqrt(float a) {
  precise float y = sqrt(a);
  return y;
}
T_FN float t_rem(float a, float b) { return t_rem_bits(a, b); }
T_FN float t_rcp_1_2(float d) {
  precise float y = 1.0f / d;
  return y;
}
