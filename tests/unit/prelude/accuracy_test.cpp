// Largest error of every f32 function. The quick run steps over all bit patterns;
// PRELUDE_EXHAUSTIVE visits each of the 2^32.
#include <bit>
#include <random>

#include "gtest/gtest.h"
#include "reference.h"

namespace tuff::test {
namespace {

#ifdef PRELUDE_EXHAUSTIVE
constexpr uint64_t kStep = 1;
constexpr int kPairs = 200'000'000;
#else
constexpr uint64_t kStep = 2039;  // prime: 2.1 million patterns
constexpr int kPairs = 1'000'000;
#endif

class Unary : public testing::TestWithParam<UnaryRow> {};

TEST_P(Unary, StaysWithinItsBound) {
  const UnaryRow& row = GetParam();
  double worst = 0;
  float at = 0;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += kStep) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const double error = ulp_error(row.function(x), row.reference(x));
    if (error > worst) {
      worst = error;
      at = x;
    }
  }
  RecordProperty("max_ulp", std::to_string(worst));
  std::printf("%s: %.4f ulp at %a\n", row.name, worst, at);
  EXPECT_LE(worst, row.max_ulp) << "at " << at << ": " << row.function(at);
}

INSTANTIATE_TEST_SUITE_P(Prelude, Unary, testing::ValuesIn(unary_rows()),
                         [](const auto& info) { return std::string(info.param.name); });

class Binary : public testing::TestWithParam<BinaryRow> {};

// Pairs of three kinds: any bits; exponents near each other; ordinary sizes.
TEST_P(Binary, StaysWithinItsBound) {
  const BinaryRow& row = GetParam();
  std::mt19937 random(20240611);
  double worst = 0;
  float at_x = 0, at_y = 0;
  for (int i = 0; i < kPairs; ++i) {
    uint32_t a = random(), b = random();
    if (i % 3 == 1) b = (b & 0x807fffff) | ((a & 0x7f800000) ^ (b & 0x01000000));
    if (i % 3 == 2) {
      a = (a & 0x81ffffff) | 0x3e000000;
      b = (b & 0x83ffffff) | 0x40000000;
    }
    const float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
    const double error = ulp_error(row.function(x, y), row.reference(x, y));
    if (error > worst) {
      worst = error;
      at_x = x;
      at_y = y;
    }
  }
  std::printf("%s: %.4f ulp at %a, %a\n", row.name, worst, at_x, at_y);
  EXPECT_LE(worst, row.max_ulp) << "at " << at_x << ", " << at_y << ": "
                                << row.function(at_x, at_y);
}

INSTANTIATE_TEST_SUITE_P(Prelude, Binary, testing::ValuesIn(binary_rows()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tuff::test
