// Quotients, roots and reciprocals by fma (ieee_fused.glsl), and reciprocals by split products
// (ieee_device.glsl), against the CPU's own; quotients and roots from guesses that are off.
#include <bit>
#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "shaders/prelude/prelude.h"

namespace tuff::prelude {
namespace fused {

float inversesqrt(float a) { return static_cast<float>(1 / std::sqrt(static_cast<double>(a))); }
#define T_FN inline
#define precise
#include "shaders/prelude/ieee_fused.glsl"
#undef precise
#undef T_FN

}  // namespace fused

namespace split {

#define T_FN inline
#define precise
#include "shaders/prelude/ieee_device.glsl"
#undef precise
#undef T_FN

}  // namespace split

namespace {

float neighbour(float x, int ulps) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(x) + static_cast<uint32_t>(ulps));
}

constexpr int kGuessUlps[] = {-5, -3, -2, -1, 0, 1, 2, 3, 5};

// 2^-k modulo the odd number b.
uint64_t inverse_power_of_two(uint64_t b, int k) {
  uint64_t x = 1;
  for (int i = 0; i < k; ++i) x = x % 2 == 1 ? (x + b) / 2 : x / 2;
  return x;
}

void expect_quotient(uint64_t a, uint64_t b) {
  float x = static_cast<float>(a), y = static_cast<float>(b);
  for (int ulps : kGuessUlps)
    ASSERT_EQ(fused::t_div_fused(x, y, neighbour(1.0f / y, ulps)), x / y) << a << " / " << b;
}

// Mantissas a and b with 2^shift a = d modulo b: for small d and a shift of 25 a quotient of 25
// bits has its last bit set, or nearly so, and no quotient is nearer to the middle of two floats.
TEST(FusedDivision, IsRightNextToTheMiddleOfTwoFloats) {
  constexpr uint64_t kFirst = uint64_t{1} << 23, kLast = uint64_t{1} << 24;
  std::mt19937 random(1);
  for (uint64_t b = kFirst + 1; b < kLast; b += 2 * (1 + random() % 100))
    for (int shift : {24, 25})
      for (uint64_t d = 1; d <= 3; ++d) {
        uint64_t above = inverse_power_of_two(b, shift) * d % b;
        for (uint64_t rest : {above, b - above})
          for (uint64_t a = rest; a < kLast; a += b)
            if (a >= kFirst) expect_quotient(a, b);
      }
}

TEST(FusedDivision, IsRightForLargeMantissas) {
  constexpr uint64_t kLast = uint64_t{1} << 24;
  for (uint64_t b = kLast - 20; b < kLast; ++b)
    for (uint64_t a = kLast / 2; a < kLast; a += 997) expect_quotient(a, b);
}

TEST(FusedDivision, RootsOfAllMantissas) {
  for (uint32_t mantissa = 0; mantissa < 1u << 24; mantissa += 3) {
    float a = std::bit_cast<float>(0x3f800000u + mantissa);
    float inverse = fused::inversesqrt(a);
    for (int ulps : kGuessUlps)
      ASSERT_EQ(fused::t_sqrt_fused(a, neighbour(inverse, ulps)), std::sqrt(a)) << a;
  }
}

TEST(Reciprocal, IsRightForAllOfItsRange) {
  for (uint32_t bits = 0x3f800000u; bits <= 0x40000000u; ++bits) {
    float d = std::bit_cast<float>(bits);
    ASSERT_EQ(fused::t_rcp_1_2(d), 1.0f / d) << bits;
    ASSERT_EQ(split::t_rcp_1_2(d), 1.0f / d) << bits;
  }
}

// Bits of any kind, those for which the long way is taken among them; NaN is any NaN.
TEST(FusedDivision, TakesAllFloats) {
  std::mt19937 random(2);
  auto same = [](float got, float want) {
    return (std::isnan(got) && std::isnan(want)) ||
           std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(want);
  };
  constexpr uint32_t kEdges[] = {0,           0x80000000u, 1,           0x007fffffu, 0x00800000u,
                                 0x187fffffu, 0x18800000u, 0x677fffffu, 0x67800000u, 0x287fffffu,
                                 0x28800000u, 0x567fffffu, 0x56800000u, 0x3fffffffu, 0x7f7fffffu,
                                 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x3f800000u, 0xbf800000u};
  auto bits = [&](int i) {
    return i % 5 == 0 ? kEdges[random() % std::size(kEdges)] : static_cast<uint32_t>(random());
  };
  for (int i = 0; i < 2'000'000; ++i) {
    float a = std::bit_cast<float>(bits(i)), b = std::bit_cast<float>(bits(i / 5));
    ASSERT_TRUE(same(fused::t_div(a, b), a / b)) << a << " / " << b;
    ASSERT_TRUE(same(fused::t_sqrt(a), std::sqrt(a))) << a;
  }
}

}  // namespace
}  // namespace tuff::prelude
