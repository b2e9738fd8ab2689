// How far one output is from another, as a number: for --check, benchmarks and tuning.
#pragma once

#include "ir/graph.h"
#include "ir/literal.h"

namespace tuff {

// How far `got` is from `expected`. Integers and booleans must be equal.
struct Difference {
  double max_abs = 0;  // largest |got - expected|
  double max_rel = 0;  // max_abs / largest |expected|
  int64_t at = -1;     // element of max_abs, or the first that cannot be compared (NaN, infinity)
  bool within = true;  // of the tolerance
};

Difference compare_outputs(const Literal& got, const Literal& expected, double tolerance);

// On max_rel, by the least precise float type in the graph: rounding to it happens
// after every operation.
double check_tolerance(const Graph& graph);

}  // namespace tuff
