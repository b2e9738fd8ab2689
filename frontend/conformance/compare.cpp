#include "frontend/conformance/compare.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace tuff::conformance {

namespace {

// Position of a float among its type's values: neighbours differ by 1, zeros share 0.
int64_t ordinal(DType dtype, double value) {
  int64_t bits = 0, sign = 0;
  switch (dtype) {
    case DType::kF16: bits = f64_to_f16(value), sign = 0x8000; break;
    case DType::kBF16: bits = f64_to_bf16(value), sign = 0x8000; break;
    case DType::kF32:
      bits = std::bit_cast<uint32_t>(static_cast<float>(value)), sign = int64_t{1} << 31;
      break;
    default: {
      auto wide = std::bit_cast<int64_t>(value);
      constexpr int64_t kMagnitude = std::numeric_limits<int64_t>::max();
      return wide < 0 ? -(wide & kMagnitude) : wide;
    }
  }
  return bits & sign ? -(bits & ~sign) : bits;
}

struct Verdict {
  bool strict, tolerant;
};

Verdict compare_floats(DType dtype, double got, double expected, const Tolerance& t) {
  if (std::isnan(got) || std::isnan(expected)) {
    bool both = std::isnan(got) && std::isnan(expected);
    return {both, both};
  }
  if (got == expected) return {true, true};
  if (t.mode == "eq" || std::isinf(got) || std::isinf(expected)) return {false, false};
  double difference = std::fabs(got - expected);
  bool strict = t.mode == "almost_eq" ? difference <= t.strict_atol
                                      : ulp_distance(dtype, got, expected) <= t.max_ulp;
  return {strict, difference <= t.atol + t.rtol * std::fabs(expected)};
}

// Units in the last place are counted in both parts, tolerances are for the absolute value.
Verdict compare_complex(const Literal& got, const Literal& expected, int64_t i,
                        const Tolerance& t) {
  DType part = got.type().dtype;
  Verdict all{true, true};
  double square = 0, size = 0;
  for (int64_t at : {2 * i, 2 * i + 1}) {
    double a = got.get_double(at), b = expected.get_double(at);
    Verdict one = compare_floats(part, a, b, t);
    all = {all.strict && one.strict, all.tolerant && one.tolerant};
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (!one.tolerant) return {false, false};
      continue;
    }
    square = std::hypot(square, a - b), size = std::hypot(size, b);
  }
  if (t.mode == "eq") return all;
  if (t.mode == "almost_eq") all.strict = square <= t.strict_atol;
  return {all.strict, square <= t.atol + t.rtol * size};
}

std::string describe(const Literal& got, const Literal& expected, int64_t i) {
  auto text = [i](const Literal& x) {
    if (is_complex(x.type().dtype)) {
      Literal parts = as_parts(x);
      char buffer[80];
      std::snprintf(buffer, sizeof buffer, "%.17g%+.17gi", parts.get_double(2 * i),
                    parts.get_double(2 * i + 1));
      return std::string(buffer);
    }
    if (!is_float(x.type().dtype)) return std::to_string(x.get_int(i));
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.17g", x.get_double(i));
    return std::string(buffer);
  };
  return "element (" + std::to_string(i) + "): got (" + text(got) + "), expected (" +
         text(expected) + ")";
}

}  // namespace

int64_t ulp_distance(DType dtype, double a, double b) {
  // Opposite signs in f64 can be 2^63 apart; that is far in any case.
  double distance =
      std::fabs(static_cast<double>(ordinal(dtype, a)) - static_cast<double>(ordinal(dtype, b)));
  if (distance > 0x1p62) return int64_t{1} << 62;
  return std::abs(ordinal(dtype, a) - ordinal(dtype, b));
}

Comparison compare(const Literal& got, const Literal& expected, const Tolerance& tolerance) {
  Comparison result;
  DType dtype = got.type().dtype;
  Literal got_parts = as_parts(got), expected_parts = as_parts(expected);
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    Verdict verdict;
    if (is_float(dtype)) {
      verdict = compare_floats(dtype, got.get_double(i), expected.get_double(i), tolerance);
    } else if (is_complex(dtype)) {
      verdict = compare_complex(got_parts, expected_parts, i, tolerance);
    } else {
      bool equal = got.get_int(i) == expected.get_int(i);
      verdict = {equal, equal};
    }
    bool passes = verdict.strict || verdict.tolerant;
    if ((!passes && result.tolerant_failures == 0) ||
        (!verdict.strict && result.strict_failures == 0))
      result.first = describe(got, expected, i);
    result.strict_failures += !verdict.strict;
    result.tolerant_failures += !passes;
  }
  return result;
}

}  // namespace tuff::conformance
