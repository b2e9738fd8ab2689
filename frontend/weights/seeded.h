// Values that follow from a tensor's name alone, the same in every process and
// language (the formula: frontend/python/README.md).
#pragma once

#include <string_view>

#include "ir/literal.h"

namespace tuff {

// The range of a seeded weight: uniform in [mean - scale, mean + scale).
struct SeededInit {
  double scale = 1, mean = 0;
};

// A float tensor in f32 arithmetic, then rounded to its element type.
Literal seeded_floats(std::string_view name, const TensorType& type, SeededInit init);

// Data for an argument nobody has given: floats in [-1, 1), integers in [0, 16),
// booleans 0 or 1.
Literal seeded_argument(std::string_view name, const TensorType& type);

}  // namespace tuff
