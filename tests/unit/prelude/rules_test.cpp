// Special values, integer rules and conversions: exact, so plain equality.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "gtest/gtest.h"
#include "ir/type.h"
#include "reference.h"

namespace tuff::prelude {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMost = std::numeric_limits<float>::max();
constexpr float kTiny = 1e-45f;  // the least denormal
constexpr int kMin = std::numeric_limits<int>::min();
constexpr int kMax = std::numeric_limits<int>::max();
constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();

// The interesting floats.
const float kSpecials[] = {
    0.0f,       -0.0f,        1.0f,        -1.0f,       0.5f,   -0.5f,   2.0f,
    -2.0f,      3.0f,         -3.0f,       kInf,        -kInf,  kNan,    -kNan,
    kTiny,      -kTiny,       kMost,       -kMost,      1e-38f, -1e-38f, 1.17549435e-38f,
    2.5f,       -2.5f,        16777215.0f, 16777216.0f, 1e20f,  -1e20f,  0.99999994f,
    1.0000001f, -0.99999994f, -1.0000001f};

// Same bits, or both NaN.
testing::AssertionResult same(float a, float b) {
  if (std::bit_cast<uint>(a) == std::bit_cast<uint>(b) || (std::isnan(a) && std::isnan(b))) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << a << " is not " << b;
}

TEST(Rules, UnarySpecials) {
  for (const test::UnaryRow& row : test::unary_rows()) {
    for (float x : kSpecials) {
      EXPECT_LE(test::ulp_error(row.function(x), row.reference(x)), row.max_ulp)
          << row.name << "(" << x << ") = " << row.function(x);
    }
  }
  EXPECT_EQ(t_log(kTiny), static_cast<float>(std::log(static_cast<double>(kTiny))));
  EXPECT_TRUE(same(t_log(-0.0f), -kInf));
  EXPECT_TRUE(same(t_expm1(-0.0f), -0.0f));
  EXPECT_TRUE(same(t_tanh(kTiny), kTiny));
}

TEST(Rules, BinarySpecials) {
  for (const test::BinaryRow& row : test::binary_rows()) {
    for (float x : kSpecials) {
      for (float y : kSpecials) {
        EXPECT_LE(test::ulp_error(row.function(x, y), row.reference(x, y)), row.max_ulp)
            << row.name << "(" << x << ", " << y << ") = " << row.function(x, y);
      }
    }
  }
}

TEST(Rules, MaxMinPropagateNanAndOrderZeros) {
  for (float x : kSpecials) {
    for (float y : kSpecials) {
      if (std::isnan(x) || std::isnan(y)) {
        EXPECT_TRUE(std::isnan(t_max(x, y)) && std::isnan(t_min(x, y))) << x << ", " << y;
      } else if (x != y) {
        EXPECT_TRUE(same(t_max(x, y), std::fmax(x, y)) && same(t_min(x, y), std::fmin(x, y)));
        EXPECT_TRUE(t_max(double{x}, double{y}) == std::fmax(x, y));
        EXPECT_TRUE(t_min(double{x}, double{y}) == std::fmin(x, y));
      }
      EXPECT_EQ(t_ne(x, y), !(x == y));
    }
  }
  EXPECT_TRUE(same(t_max(-0.0f, 0.0f), 0.0f) && same(t_max(0.0f, -0.0f), 0.0f));
  EXPECT_TRUE(same(t_min(-0.0f, 0.0f), -0.0f) && same(t_min(0.0f, -0.0f), -0.0f));
  for (double nan : {std::nan(""), -std::nan("")}) {
    EXPECT_TRUE(std::isnan(t_max(nan, 1.0)) && std::isnan(t_max(-HUGE_VAL, nan)));
    EXPECT_TRUE(std::isnan(t_min(nan, 1.0)) && std::isnan(t_min(HUGE_VAL, nan)));
  }
}

TEST(Rules, TotalOrder) {
  const float order[] = {-kNan, -kInf, -kMost, -1.0f, -kTiny, -0.0f,
                         0.0f,  kTiny, 1.0f,   kMost, kInf,   kNan};
  for (size_t i = 1; i < std::size(order); ++i) {
    EXPECT_LT(t_total_order(order[i - 1]), t_total_order(order[i]));
    EXPECT_LT(t_total_order(static_cast<double>(order[i - 1])),
              t_total_order(static_cast<double>(order[i])));
  }
}

TEST(Rules, ReducePrecision) {
  EXPECT_TRUE(same(t_reduce_precision(3.14159274f, 8, 7), 3.140625f));
  EXPECT_TRUE(same(t_reduce_precision(1e30f, 5, 10), kInf));
  EXPECT_TRUE(same(t_reduce_precision(-1e-30f, 5, 10), -0.0f));
  EXPECT_TRUE(same(t_reduce_precision(1.2345f, 8, 23), 1.2345f));
  EXPECT_TRUE(same(t_reduce_precision(-kInf, 5, 2), -kInf));
  EXPECT_TRUE(std::isnan(t_reduce_precision(kNan, 5, 2)));
  EXPECT_EQ(t_reduce_precision(3.14159274, 8, 7), 3.140625);
  EXPECT_EQ(t_reduce_precision(1e300, 8, 23), HUGE_VAL);
  // To a format with f16's and bf16's fields, away from their denormals.
  std::mt19937 random(1);
  for (int i = 0; i < 1000000; ++i) {
    const float x = std::bit_cast<float>(static_cast<uint>(random()));
    if (!(std::fabs(x) > 6.2e-5f)) continue;
    ASSERT_TRUE(same(t_reduce_precision(x, 5, 10), t_round_f16(x))) << x;
    ASSERT_TRUE(same(t_reduce_precision(x, 8, 7), t_round_bf16(x))) << x;
  }
}

TEST(Rules, IntegerDivision) {
  EXPECT_EQ(t_div(7, 0), -1);
  EXPECT_EQ(t_div(kMin, -1), kMin);
  EXPECT_EQ(t_div(7u, 0u), 0xffffffffu);
  EXPECT_EQ(t_rem(7, 0), 7);
  EXPECT_EQ(t_rem(kMin, 0), kMin);
  EXPECT_EQ(t_rem(kMin, -1), 0);
  EXPECT_EQ(t_rem(9u, 0u), 9u);
  EXPECT_EQ(t_div(kMin64, int64_t{-1}), kMin64);
  EXPECT_EQ(t_div(kMin64, int64_t{0}), -1);
  EXPECT_EQ(t_rem(kMin64, int64_t{-1}), 0);
  EXPECT_EQ(t_rem(kMin64, int64_t{0}), kMin64);
  EXPECT_EQ(t_div(uint64_t{5}, uint64_t{0}), ~uint64_t{0});
  const int values[] = {1, -1, 2, -2, 7, -7, 100, kMax, kMin + 1, kMin};
  for (int a : values) {
    for (int b : values) {
      if (a == kMin && b == -1) continue;
      EXPECT_EQ(t_div(a, b), a / b);
      EXPECT_EQ(t_rem(a, b), a % b);
      EXPECT_EQ(t_div(int64_t{a}, int64_t{b}), a / b);
      EXPECT_EQ(t_rem(int64_t{a}, int64_t{b}), a % b);
      EXPECT_EQ(t_div(static_cast<uint>(a), static_cast<uint>(b)),
                static_cast<uint>(a) / static_cast<uint>(b));
      EXPECT_EQ(t_rem(static_cast<uint>(a), static_cast<uint>(b)),
                static_cast<uint>(a) % static_cast<uint>(b));
    }
  }
}

TEST(Rules, ShiftsAndBitCounts) {
  EXPECT_EQ(t_shl(1, 31), kMin);
  EXPECT_EQ(t_shl(1, 32), 0);
  EXPECT_EQ(t_shl(1, -1), 0);
  EXPECT_EQ(t_shl(1u, 40u), 0u);
  EXPECT_EQ(t_sra(-8, 1, 32), -4);
  EXPECT_EQ(t_sra(-8, 99, 32), -1);
  EXPECT_EQ(t_sra(kMax, 32, 32), 0);
  EXPECT_EQ(t_wrap_u8(t_sra(0x80u, 1u, 8)), 0xc0u);
  EXPECT_EQ(t_srl(-1, 1, 32), kMax);
  EXPECT_EQ(t_srl(-1, 1, 8), 0x7f);
  EXPECT_EQ(t_srl(-1, 32, 32), 0);
  EXPECT_EQ(t_srl(-2, 0, 8), 0xfe);  // wrapped to i8 by the caller
  EXPECT_EQ(t_shl(int64_t{1}, int64_t{64}), 0);
  EXPECT_EQ(t_sra(kMin64, int64_t{100}, 64), -1);
  EXPECT_EQ(t_srl(int64_t{-1}, int64_t{63}, 64), 1);
  for (int bit = 0; bit < 32; ++bit) {
    EXPECT_EQ(t_clz(1u << bit, 32), static_cast<uint>(31 - bit));
    EXPECT_EQ(t_popcnt(0xffffffffu >> bit, 32), static_cast<uint>(32 - bit));
    EXPECT_EQ(t_clz(uint64_t{1} << (bit + 32), 64), static_cast<uint64_t>(31 - bit));
  }
  EXPECT_EQ(t_clz(0u, 32), 32u);
  EXPECT_EQ(t_clz(0xffffff01u, 8), 7u);
  EXPECT_EQ(t_popcnt(0xffffffffu, 8), 8u);
  EXPECT_EQ(t_popcnt(~uint64_t{0}, 64), 64u);
  EXPECT_EQ(t_clz(uint64_t{0}, 64), 64u);
}

TEST(Rules, IntegerPower) {
  EXPECT_EQ(t_ipow(3, 4), 81);
  EXPECT_EQ(t_ipow(-2, 31), kMin);
  EXPECT_EQ(t_ipow(2, 32), 0);
  EXPECT_EQ(t_ipow(0, 0), 1);
  EXPECT_EQ(t_ipow(2, -1), 0);
  EXPECT_EQ(t_ipow(1, -5), 1);
  EXPECT_EQ(t_ipow(-1, -5), -1);
  EXPECT_EQ(t_ipow(-1, -4), 1);
  EXPECT_EQ(t_ipow(7u, 11u), 1977326743u);
  EXPECT_EQ(t_ipow(int64_t{-3}, int64_t{39}), -4052555153018976267);
  EXPECT_EQ(t_ipow(int64_t{5}, int64_t{-2}), 0);
}

TEST(Rules, SixteenBitFloats) {
  for (uint h = 0; h < 0x10000; ++h) {
    const uint16_t bits = static_cast<uint16_t>(h);
    ASSERT_TRUE(same(t_f16_to_f32(h), f16_to_f32(bits))) << h;
    ASSERT_TRUE(same(t_bf16_to_f32(h), bf16_to_f32(bits))) << h;
    if ((h & 0x7fff) <= 0x7c00) {
      ASSERT_EQ(t_f32_to_f16(t_f16_to_f32(h)), h);
    }
    if ((h & 0x7fff) <= 0x7f80) {
      ASSERT_EQ(t_f32_to_bf16(t_bf16_to_f32(h)), h);
    }
  }
  // Rounding against the integer-only routines of ir, which take doubles exactly.
  for (uint64_t u = 0; u < (uint64_t{1} << 32); u += 509) {
    const float x = std::bit_cast<float>(static_cast<uint>(u));
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(t_round_f16(x)) && std::isnan(t_round_bf16(x)));
      continue;
    }
    ASSERT_EQ(t_f32_to_f16(x), f64_to_f16(x)) << x;
    ASSERT_EQ(t_f32_to_bf16(x), f64_to_bf16(x)) << x;
  }
}

TEST(Rules, FloatToInteger) {
  EXPECT_EQ(t_f32_to_i32(kNan), 0);
  EXPECT_EQ(t_f32_to_i32(3e9f), kMax);
  EXPECT_EQ(t_f32_to_i32(-kInf), kMin);
  EXPECT_EQ(t_f32_to_i32(-3.9f), -3);
  EXPECT_EQ(t_f32_to_i32(2147483520.0f), 2147483520);
  EXPECT_EQ(t_f32_to_u32(-1.0f), 0u);
  EXPECT_EQ(t_f32_to_u32(4e9f), 4000000000u);
  EXPECT_EQ(t_f32_to_u32(kInf), 0xffffffffu);
  EXPECT_EQ(t_f32_to_u32(-kNan), 0u);
  EXPECT_EQ(t_f32_to_i8(300.0f), 127);
  EXPECT_EQ(t_f32_to_i8(-300.0f), -128);
  EXPECT_EQ(t_f32_to_u8(kNan), 0u);
  EXPECT_EQ(t_f32_to_u8(255.9f), 255u);
  EXPECT_EQ(t_f32_to_i16(kInf), 32767);
  EXPECT_EQ(t_f32_to_u16(-0.5f), 0u);
  EXPECT_TRUE(t_f32_to_bool(kNan) && t_f32_to_bool(kTiny) && !t_f32_to_bool(-0.0f));
  EXPECT_EQ(t_f32_to_i64(kInf), kMax64);
  EXPECT_EQ(t_f32_to_i64(-kInf), kMin64);
  EXPECT_EQ(t_f32_to_i64(kNan), 0);
  EXPECT_EQ(t_f32_to_u64(-2.0f), 0u);
  EXPECT_EQ(t_f32_to_u64(2e19f), ~uint64_t{0});
  EXPECT_EQ(t_f64_to_i64(9.3e18), kMax64);
  EXPECT_EQ(t_f64_to_i64(-HUGE_VAL), kMin64);
  EXPECT_EQ(t_f64_to_u64(1.8e19), 18000000000000000000u);
  EXPECT_EQ(t_f64_to_i32(2147483647.5), kMax);
  EXPECT_EQ(t_f64_to_u32(-1.0), 0u);
  EXPECT_EQ(t_f64_to_i32(std::nan("")), 0);
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000000; ++i) {
    const uint64_t u = random();
    const float x = std::bit_cast<float>(static_cast<uint>(u));
    const double d = std::bit_cast<double>(u);
    if (std::fabs(x) < 9e18f) {
      ASSERT_EQ(t_f32_to_i64(x), static_cast<int64_t>(x));
    }
    if (x >= 0 && x < 1.8e19f) {
      ASSERT_EQ(t_f32_to_u64(x), static_cast<uint64_t>(x));
    }
    if (std::fabs(x) < 2e9f) {
      ASSERT_EQ(t_f32_to_i32(x), static_cast<int>(x));
    }
    if (std::fabs(d) < 9e18) {
      ASSERT_EQ(t_f64_to_i64(d), static_cast<int64_t>(d));
    }
  }
}

TEST(Rules, IntegerToFloatRoundsOnce) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000000; ++i) {
    uint64_t u = random() >> (i % 64);
    if (i % 5 == 0) u = (u & ~uint64_t{0xffffffff}) | 1;  // sticky bits
    const int64_t s = static_cast<int64_t>(u);
    const uint w = static_cast<uint>(u);
    ASSERT_TRUE(same(t_i32_to_f32(static_cast<int>(w)), static_cast<float>(static_cast<int>(w))));
    ASSERT_TRUE(same(t_u32_to_f32(w), static_cast<float>(w)));
    ASSERT_TRUE(same(t_i64_to_f32(s), static_cast<float>(s))) << s;
    ASSERT_TRUE(same(t_u64_to_f32(u), static_cast<float>(u))) << u;
    ASSERT_EQ(t_i64_to_f64(s), static_cast<double>(s));
    ASSERT_EQ(t_u64_to_f64(u), static_cast<double>(u));
  }
}

TEST(Rules, DoubleToFloat) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 1000000; ++i) {
    const uint64_t u = random();
    double d = std::bit_cast<double>(u);
    // Mostly within float's range, its denormals and edges included.
    if (i % 8)
      d = std::ldexp(1 + static_cast<double>(u >> 12) / 4503599627370496.0,
                     static_cast<int>(u & 0x1ff) - 260 + 5);
    if (i % 3 == 0)
      d = static_cast<double>(static_cast<float>(d)) * (1 + (i % 2 ? 5.9604644775390625e-8 : 0));
    ASSERT_TRUE(same(t_f64_to_f32(d), static_cast<float>(d))) << d;
    if (std::isnan(d)) continue;
    ASSERT_EQ(t_f32_to_f16(t_f64_to_f32_odd(d)), f64_to_f16(d)) << d;
    ASSERT_EQ(t_f32_to_bf16(t_f64_to_f32_odd(d)), f64_to_bf16(d)) << d;
  }
  EXPECT_TRUE(same(t_f64_to_f32(HUGE_VAL), kInf));
  EXPECT_TRUE(same(t_f64_to_f32(-0.0), -0.0f));
}

TEST(Rules, RoundAwayFromZero) {
  for (double d : {0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 1e300, -0.0}) {
    EXPECT_EQ(t_round_afz(d), std::round(d));
  }
}

TEST(Rules, RoundToEven) {
  for (double d :
       {0.0, 0.3, 0.5, 0.49999999999999994, 0.50000000000000011, 1.5, 2.5, 3.5, 1e9 + 0.5,
        4503599627370495.5, 4503599627370494.5, 4503599627370497.0, 1e300, HUGE_VAL}) {
    EXPECT_TRUE(same(t_round_even(d), std::nearbyint(d))) << d;
    EXPECT_TRUE(same(t_round_even(-d), std::nearbyint(-d))) << -d;
  }
  EXPECT_TRUE(std::isnan(t_round_even(std::nan(""))));
}

}  // namespace
}  // namespace tuff::prelude
