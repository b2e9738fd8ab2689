#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) readonly buffer B { uint b[]; };
layout(binding = 2) writeonly buffer R { uint r[]; };
double t_i64_to_f64(int64_t a) {
  precise double y = double(int(a >> 32)) * double(4294967296.0f) + double(uint(a));
  return y;
}
void main() {
  uint at = gl_GlobalInvocationID.x;
  uint u = a[at], v = b[at];
  float x = uintBitsToFloat(u), y = uintBitsToFloat(v);
  int i = int(u), j = int(v);
  uint64_t w = uint64_t(u) << 32 | uint64_t(v);
  int64_t n = int64_t(w);
  double d = uint64BitsToDouble(w);
  r[at] = uint(doubleBitsToUint64(t_i64_to_f64(n)));
}
