#include "frontend/conformance/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tuff::conformance {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Comparison compare_f32(double got, double expected, const Tolerance& tolerance) {
  return compare(Literal::scalar(DType::kF32, got), Literal::scalar(DType::kF32, expected),
                 tolerance);
}

bool strict(double got, double expected, const Tolerance& t) {
  return compare_f32(got, expected, t).strict_failures == 0;
}
bool tolerant(double got, double expected, const Tolerance& t) {
  return compare_f32(got, expected, t).tolerant_failures == 0;
}

TEST(Compare, SpecialValuesMatchThemselves) {
  Tolerance eq;
  EXPECT_TRUE(strict(std::nan(""), std::nan(""), eq));
  EXPECT_TRUE(strict(-0.0, 0.0, eq));
  EXPECT_TRUE(strict(kInf, kInf, eq));
  EXPECT_FALSE(tolerant(kInf, -kInf, {"close", 0, 3, 1, 1}));
  EXPECT_FALSE(tolerant(1, std::nan(""), {"close", 0, 3, 1, 1}));
  EXPECT_FALSE(tolerant(std::nextafter(1.0f, 2.0f), 1, {"eq", 1, 3, 1, 1}));
}

TEST(Compare, CloseCountsUlps) {
  EXPECT_EQ(ulp_distance(DType::kF32, 1.0, 1.0 + 3 * 0x1p-23), 3);
  EXPECT_EQ(ulp_distance(DType::kF16, -0x1p-24, 0x1p-24), 2);
  EXPECT_EQ(ulp_distance(DType::kF64, 1.0, 1.0 + 0x1p-52), 1);
  Tolerance close{"close", 0, 3, 0, 1e-6};
  EXPECT_TRUE(strict(1.0 + 3 * 0x1p-23, 1.0, close));
  EXPECT_FALSE(strict(1.0 + 4 * 0x1p-23, 1.0, close));
  EXPECT_TRUE(tolerant(1.0 + 4 * 0x1p-23, 1.0, close));
  EXPECT_FALSE(tolerant(1.0 + 64 * 0x1p-23, 1.0, close));
}

TEST(Compare, AlmostEqualIsAbsolute) {
  Tolerance almost{"almost_eq", 1e-4, 3, 0, 1e-3};
  EXPECT_TRUE(strict(1.00005, 1.0, almost));
  EXPECT_FALSE(strict(1.0005, 1.0, almost));
  EXPECT_TRUE(tolerant(1.0005, 1.0, almost));
}

TEST(Compare, IntegersAreExact) {
  Literal a = Literal::from_ints(DType::kI64, {2}, {1, INT64_MAX});
  Literal b = Literal::from_ints(DType::kI64, {2}, {1, INT64_MAX - 1});
  EXPECT_EQ(compare(a, b, {"eq", 0, 3, 1, 1}).tolerant_failures, 1);
}

}  // namespace
}  // namespace tuff::conformance
