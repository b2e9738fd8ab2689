// One meaning on every device: each expression below is compiled both as C++ and as
// a shader, and a million results of the first Vulkan device must have the CPU's
// bits. Allowed: another NaN, and a zero where the CPU has a denormal.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

#include "compute_device.h"
#include "gtest/gtest.h"
#include "shaders/prelude/prelude.h"
#include "shaders/prelude/prelude_text.h"

namespace tuff::prelude {
namespace {

enum Kind { kFloat, kExact, kExact64 };

struct Row {
  const char* text;
  Kind kind;
  uint (*function)(uint, uint);
};

// x, y; i, j; u, v are the operands as floats, integers, bits; w and n have 64 bits.
#define ROW(kind, ...)                                                     \
  {                                                                        \
#__VA_ARGS__, kind, [](uint u, uint v) -> uint {                         \
     [[maybe_unused]] const float x = uintBitsToFloat(u), y = uintBitsToFloat(v);       \
     [[maybe_unused]] const int i = int(u), j = int(v);                     \
     [[maybe_unused]] const uint64_t w = uint64_t(u) << 32 | uint64_t(v);   \
     [[maybe_unused]] const int64_t n = int64_t(w);                         \
     [[maybe_unused]] const double d = uint64BitsToDouble(w);               \
     return __VA_ARGS__;                                                    \
   } \
  }
#define FLOAT(call) ROW(kFloat, floatBitsToUint(call))

const Row kRows[] = {
    FLOAT(t_exp(x)),
    FLOAT(t_expm1(x)),
    FLOAT(t_log(x)),
    FLOAT(t_log1p(x)),
    FLOAT(t_logistic(x)),
    FLOAT(t_tanh(x)),
    FLOAT(t_erf(x)),
    FLOAT(t_sin(x)),
    FLOAT(t_cos(x)),
    FLOAT(t_tan(x)),
    FLOAT(t_atan(x)),
    FLOAT(t_cbrt(x)),
    FLOAT(t_sqrt(x)),
    FLOAT(t_rsqrt(x)),
    FLOAT(t_sign(x)),
    FLOAT(t_round_afz(x)),
    FLOAT(t_round_even(x)),
    FLOAT(t_round_f16(x)),
    FLOAT(t_round_bf16(x)),
    FLOAT(t_reduce_precision(x, 5, 10)),
    FLOAT(t_pow(x, y)),
    FLOAT(t_atan2(x, y)),
    FLOAT(t_div(x, y)),
    FLOAT(t_rem(x, y)),
    FLOAT(t_max(x, y)),
    FLOAT(t_min(x, y)),
    FLOAT(t_i32_to_f32(i)),
    FLOAT(t_u32_to_f32(u)),
    FLOAT(t_round_bf16(t_i32_to_f32_odd(i))),
    FLOAT(t_f16_to_f32(u & 0xffffu)),
    FLOAT(t_bf16_to_f32(u & 0xffffu)),
    ROW(kExact, t_f32_to_f16(x)),
    ROW(kExact, t_f32_to_bf16(x)),
    ROW(kExact, uint(t_f32_to_i32(x))),
    ROW(kExact, t_f32_to_u32(x)),
    ROW(kExact, uint(t_f32_to_i8(x))),
    ROW(kExact, t_f32_to_u16(x)),
    ROW(kExact, uint(t_f32_to_bool(x))),
    ROW(kExact, uint(t_is_finite(x)) + uint(t_ne(x, y)) * 2u),
    ROW(kExact, uint(t_total_order(x))),
    ROW(kExact, uint(t_div(i, j))),
    ROW(kExact, uint(t_div(i, j >> 20))),
    ROW(kExact, t_div(u, v >> 20u)),
    ROW(kExact, uint(t_rem(i, j >> 20))),
    ROW(kExact, t_rem(u, v >> 20u)),
    ROW(kExact, uint(t_shl(i, j >> 26))),
    ROW(kExact, uint(t_sra(i, j >> 26, 32))),
    ROW(kExact, uint(t_srl(i, j >> 26, 32))),
    ROW(kExact, t_sra(u, v >> 26u, 8) + t_srl(u, v >> 26u, 16)),
    ROW(kExact, t_popcnt(u, 32) + 64u * t_clz(u >> (v & 31u), 32)),
    ROW(kExact, uint(t_ipow(i, j >> 16))),
    ROW(kExact64, uint(t_div(n, int64_t(j)) + t_rem(n, int64_t(j >> 16)))),
    ROW(kExact64, uint(t_sra(n, int64_t(j >> 25), 64) + t_shl(n, int64_t(j >> 25)))),
    ROW(kExact64, uint(t_clz(w >> int(v & 63u), 64) + t_popcnt(w, 64))),
    ROW(kExact64, uint(t_ipow(n, int64_t(j >> 16)))),
    ROW(kExact64, uint(t_f32_to_i64(x) >> int(v & 63u))),
    ROW(kExact64, floatBitsToUint(t_i64_to_f32(n >> int(v & 63u)))),
    ROW(kExact64, floatBitsToUint(t_i64_to_f32_odd(n >> int(v & 63u)))),
    ROW(kExact64, uint(doubleBitsToUint64(t_rem(d, double(y))) >> 20)),
    ROW(kExact64, uint(t_f64_to_i64(d))),
    ROW(kExact64, uint(t_f64_to_i32(d))),
    ROW(kExact64, t_f64_to_u32(d)),
    ROW(kExact64, t_f32_to_bf16(t_f64_to_f32_odd(d))),
    ROW(kExact64, uint(doubleBitsToUint64(t_i64_to_f64(n)))),
};

constexpr size_t kCount = 1 << 20;

// Every 4096th bit pattern, each with a second operand of some kind: any, one with a
// close exponent, or both of ordinary size.
void make_operands(std::vector<uint32_t>& a, std::vector<uint32_t>& b) {
  std::mt19937 random(7);
  for (uint32_t i = 0; i < kCount; ++i) {
    uint32_t u = i << 12 | (random() & 0xfff), v = random();
    if (i % 3 == 1) v = (v & 0x807fffff) | ((u & 0x7f800000) ^ (v & 0x01000000));
    if (i % 3 == 2) v = (v & 0x83ffffff) | 0x40000000;
    if (i % 1024 == 0) u &= 0xff800000;  // powers of two, zeros, infinities
    a.push_back(u);
    b.push_back(v);
  }
}

std::vector<uint32_t> compile(const Row& row, bool native_division) {
  const bool wide = row.kind == kExact64;
  const PreludeOptions options{.int64 = wide, .float64 = wide, .native_division = native_division};
  std::ofstream("prelude_device.comp")
      << "#version 460\n"
      << (wide ? "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n" : "")
      << "layout(local_size_x = 64) in;\n"
      << "layout(binding = 0) readonly buffer A { uint a[]; };\n"
      << "layout(binding = 1) readonly buffer B { uint b[]; };\n"
      << "layout(binding = 2) writeonly buffer R { uint r[]; };\n"
      << prelude_functions(prelude_names(row.text), options)
      << "void main() {\n  uint at = gl_GlobalInvocationID.x;\n  uint u = a[at], v = b[at];\n"
      << "  float x = uintBitsToFloat(u), y = uintBitsToFloat(v);\n  int i = int(u), j = int(v);\n"
      << (wide ? "  uint64_t w = uint64_t(u) << 32 | uint64_t(v);\n  int64_t n = int64_t(w);\n"
                 "  double d = uint64BitsToDouble(w);\n"
               : "")
      << "  r[at] = " << row.text << ";\n}\n";
  const std::string command = GLSLANG_VALIDATOR
      " -V --target-env vulkan1.1 -o prelude_device.spv prelude_device.comp > prelude_device.log";
  EXPECT_EQ(std::system(command.c_str()), 0) << row.text << ": see prelude_device.log";
  std::ifstream file("prelude_device.spv", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<uint32_t> words(bytes.size() / 4);
  std::copy_n(bytes.data(), words.size() * 4, reinterpret_cast<char*>(words.data()));
  return words;
}

bool is_denormal(uint bits) { return (bits & 0x7f800000u) == 0 && (bits & 0x007fffffu) != 0; }

uint flushed(uint bits) { return is_denormal(bits) ? bits & 0x80000000u : bits; }

// Whether a device's float may stand where the CPU has another: see the top.
bool allowed(const Row& row, uint u, uint v, uint got, uint want) {
  if (got == want) return true;
  if (row.kind != kFloat) return false;
  if (t_is_nan(uintBitsToFloat(got)) && t_is_nan(uintBitsToFloat(want))) return true;
  if (flushed(got) == flushed(want)) return true;
  if (!is_denormal(u) && !is_denormal(v)) return false;
  return flushed(got) == flushed(row.function(flushed(u), flushed(v)));
}

TEST(PreludeDevice, HasTheBitsOfTheCpu) {
  test::ComputeDevice device;
  if (!device.ready()) GTEST_SKIP() << "no Vulkan device";
  std::printf("device: %s\n", device.name().c_str());
  std::vector<uint32_t> a, b;
  make_operands(a, b);
  for (const Row& row : kRows) {
    if (row.kind == kExact64 && !device.has_64_bits()) continue;
    const std::vector<uint32_t> got = device.run(compile(row, false), a, b);
    size_t wrong = 0, lenient = 0, first = 0;
    for (size_t k = 0; k < kCount; ++k) {
      const uint want = row.function(a[k], b[k]);
      lenient += got[k] != want;
      if (allowed(row, a[k], b[k], got[k], want)) continue;
      if (wrong++ == 0) first = k;
    }
    std::printf("%-50s %zu of %zu differ in NaN or denormals only\n", row.text, lenient - wrong,
                kCount);
    EXPECT_EQ(wrong, 0u) << row.text << ": first at " << std::hex << a[first] << ", " << b[first]
                         << ": device " << got[first] << ", CPU "
                         << row.function(a[first], b[first]);
  }
}

}  // namespace
}  // namespace tuff::prelude
