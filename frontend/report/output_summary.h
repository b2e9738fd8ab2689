// A tensor in one line, for people and for --json.
#pragma once

#include <cmath>
#include <string>

#include "frontend/report/profile.h"
#include "ir/literal.h"

namespace tuff {

struct TensorSummary {
  int64_t elements = 0, nans = 0, infinities = 0;
  double min = std::nan(""), max = min, mean = min;  // of the elements that are finite
};

TensorSummary summarize(const Literal& literal);

// "out0  3x5xf32  min -0.1  max 2.5  mean 0.4  [0.1, 0.2, ...]".
std::string describe_output(const std::string& name, const Literal& literal);
// {name, dtype, shape, min, max, mean, nans, infinities}; null where no element is finite.
Json json_of_output(const std::string& name, const Literal& literal);

}  // namespace tuff
