// Comparison of one output with its expectation, by the suites' README: strict is
// what the StableHLO reference interpreter is held to, tolerant what XLA is.
#pragma once

#include <string>

#include "ir/literal.h"

namespace tuff::conformance {

struct Tolerance {
  std::string mode = "eq";  // eq | almost_eq | close
  double strict_atol = 0;
  int64_t max_ulp = 3;
  double rtol = 0;
  double atol = 0;
};

struct Comparison {
  int64_t strict_failures = 0;    // elements
  int64_t tolerant_failures = 0;  // elements
  std::string first;              // "element (3): got (1.5), expected (2)" of the worst kind
};

// Element types and shapes must match already. NaNs match each other, +0 matches
// -0, equal infinities match.
Comparison compare(const Literal& got, const Literal& expected, const Tolerance& tolerance);

// Representable values of the element type between two finite floats.
int64_t ulp_distance(DType dtype, double a, double b);

}  // namespace tuff::conformance
