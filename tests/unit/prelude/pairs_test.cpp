// 64-bit integers as pairs of 32 bits (pairs.glsl) against the processor's own.
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "shaders/prelude/prelude.h"

namespace tuff::prelude::pairs {

using prelude::t_clz;
using prelude::t_exp2i;
using prelude::t_is_nan;
using prelude::t_popcnt;
using prelude::t_u32_to_f32;
using prelude::t_u32_to_f32_odd;
using prelude::t_umulhi;

// GLSL's, as far as pairs.glsl needs them.
struct uvec2;
struct ivec2 {
  int x, y;
  ivec2(int low, int high) : x(low), y(high) {}
  explicit ivec2(const uvec2& a);
};
struct uvec2 {
  uint x, y;
  uvec2(uint low, uint high) : x(low), y(high) {}
  explicit uvec2(const ivec2& a) : x(uint(a.x)), y(uint(a.y)) {}
};
ivec2::ivec2(const uvec2& a) : x(int(a.x)), y(int(a.y)) {}

#define T_FN inline
#define precise
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "shaders/prelude/pairs.glsl"
#pragma GCC diagnostic pop
#undef precise
#undef T_FN

namespace {

uvec2 pair(uint64_t a) { return {uint(a), uint(a >> 32)}; }
ivec2 pair(int64_t a) { return ivec2(pair(static_cast<uint64_t>(a))); }
uint64_t whole(const uvec2& a) { return uint64_t{a.y} << 32 | a.x; }
int64_t whole(const ivec2& a) { return static_cast<int64_t>(whole(uvec2(a))); }

// Special values, and random ones of every length.
template <typename T>
std::vector<T> numbers() {
  constexpr T kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  std::vector<T> values = {
      0,         1,    2,     3,           7,          T(-1),      T(-2),
      T(-3),     kLow, kHigh, T(kLow + 1), 31,         32,         33,
      62,        63,   64,    65,          T(1) << 31, T(1) << 32, (T(1) << 32) - 1,
      T(1) << 62};
  std::mt19937_64 random(1);
  for (int i = 0; i < 128; ++i) values.push_back(static_cast<T>(random()) >> (i % 64));
  return values;
}

template <typename T>
void expect_binary_ops() {
  for (T a : numbers<T>()) {
    for (T b : numbers<T>()) {
      SCOPED_TRACE(testing::Message() << a << ", " << b);
      auto x = pair(a), y = pair(b);
      ASSERT_EQ(t_less(x, y), a < b);
      ASSERT_EQ(whole(t_add(x, y)), T(uint64_t(a) + uint64_t(b)));
      ASSERT_EQ(whole(t_sub(x, y)), T(uint64_t(a) - uint64_t(b)));
      ASSERT_EQ(whole(t_mul(x, y)), T(uint64_t(a) * uint64_t(b)));
      ASSERT_EQ(whole(t_max(x, y)), prelude::t_max(a, b));
      ASSERT_EQ(whole(t_min(x, y)), prelude::t_min(a, b));
      ASSERT_EQ(whole(t_div(x, y)), prelude::t_div(a, b));
      ASSERT_EQ(whole(t_rem(x, y)), prelude::t_rem(a, b));
      ASSERT_EQ(whole(t_shl(x, y)), prelude::t_shl(a, b));
      ASSERT_EQ(whole(t_srl(x, y, 64)), prelude::t_srl(a, b, 64));
      ASSERT_EQ(whole(t_sra(x, y, 64)), prelude::t_sra(a, b, 64));
      ASSERT_EQ(whole(t_ipow(x, y)), prelude::t_ipow(a, b));
    }
  }
}

TEST(Pairs, SignedOps) { expect_binary_ops<int64_t>(); }
TEST(Pairs, UnsignedOps) { expect_binary_ops<uint64_t>(); }

TEST(Pairs, UnaryOps) {
  for (int64_t a : numbers<int64_t>()) {
    const auto u = static_cast<uint64_t>(a);
    ASSERT_EQ(whole(t_sign(pair(a))), prelude::t_sign(a)) << a;
    ASSERT_EQ(whole(t_sign(pair(u))), prelude::t_sign(u)) << a;
    ASSERT_EQ(whole(t_negate(pair(a))), static_cast<int64_t>(0 - u)) << a;
    ASSERT_EQ(whole(t_abs(pair(a))), static_cast<int64_t>(prelude::t_magnitude(a))) << a;
    ASSERT_EQ(whole(t_popcnt(pair(u), 64)), prelude::t_popcnt(u, 64)) << a;
    ASSERT_EQ(whole(t_clz(pair(u), 64)), prelude::t_clz(u, 64)) << a;
  }
}

TEST(Pairs, Conversions) {
  for (int64_t a : numbers<int64_t>()) {
    const auto u = static_cast<uint64_t>(a);
    ASSERT_EQ(t_i64_to_f32(pair(a)), prelude::t_i64_to_f32(a)) << a;
    ASSERT_EQ(t_u64_to_f32(pair(u)), prelude::t_u64_to_f32(u)) << a;
    ASSERT_EQ(t_i64_to_f32_odd(pair(a)), prelude::t_i64_to_f32_odd(a)) << a;
    ASSERT_EQ(t_u64_to_f32_odd(pair(u)), prelude::t_u64_to_f32_odd(u)) << a;
    ASSERT_EQ(whole(t_i32_to_i64(int(a))), int64_t{int(a)}) << a;
    ASSERT_EQ(whole(t_i32_to_u64(int(a))), static_cast<uint64_t>(int64_t{int(a)})) << a;
    ASSERT_EQ(whole(t_u32_to_i64(uint(a))), int64_t{uint(a)}) << a;
    ASSERT_EQ(whole(t_u32_to_u64(uint(a))), uint64_t{uint(a)}) << a;
  }
  std::mt19937 random(2);
  for (int i = 0; i < 200'000; ++i) {
    const float x = uintBitsToFloat(static_cast<uint>(random()));
    ASSERT_EQ(whole(t_f32_to_i64(x)), prelude::t_f32_to_i64(x)) << x;
    ASSERT_EQ(whole(t_f32_to_u64(x)), prelude::t_f32_to_u64(x)) << x;
  }
}

}  // namespace
}  // namespace tuff::prelude::pairs
