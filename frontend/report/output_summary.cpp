#include "frontend/report/output_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tuff {

namespace {

constexpr int64_t kValuesShown = 6;

// The sign of a NaN says nothing, and differs between devices.
std::string float_text(double value, const char* format) {
  return fmt::format(fmt::runtime(format), std::isnan(value) ? std::nan("") : value);
}

std::string element_text(const Literal& literal, int64_t i) {
  DType dtype = literal.type().dtype;
  if (is_complex(dtype)) {
    Literal parts = as_parts(literal);
    return float_text(parts.get_double(2 * i), "{:.6g}") +
           float_text(parts.get_double(2 * i + 1), "{:+.6g}") + "i";
  }
  if (is_float(dtype)) return float_text(literal.get_double(i), "{:.6g}");
  if (dtype == DType::kBool) return literal.get_int(i) ? "true" : "false";
  if (is_unsigned_int(dtype)) return fmt::format("{}", static_cast<uint64_t>(literal.get_int(i)));
  return fmt::format("{}", literal.get_int(i));
}

// What an element counts as: the absolute value of a complex one.
double value_of(const Literal& literal, const Literal& parts, int64_t i) {
  if (!is_complex(literal.type().dtype)) return literal.get_double(i);
  return std::hypot(parts.get_double(2 * i), parts.get_double(2 * i + 1));
}

}  // namespace

TensorSummary summarize(const Literal& literal) {
  TensorSummary summary;
  summary.elements = literal.num_elements();
  double sum = 0;
  int64_t counted = 0;
  Literal parts = as_parts(literal);
  for (int64_t i = 0; i < summary.elements; ++i) {
    double value = value_of(literal, parts, i);
    if (!std::isfinite(value)) {
      ++(std::isnan(value) ? summary.nans : summary.infinities);
      continue;
    }
    summary.min = std::fmin(summary.min, value);
    summary.max = std::fmax(summary.max, value);
    sum += value;
    ++counted;
  }
  if (counted > 0) summary.mean = sum / static_cast<double>(counted);
  return summary;
}

std::string describe_output(const std::string& name, const Literal& literal) {
  TensorSummary summary = summarize(literal);
  std::string text = fmt::format("{}  {}", name, literal.type().to_string());
  if (summary.elements > 1 && summary.nans + summary.infinities < summary.elements)
    text += fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", summary.min, summary.max,
                        summary.mean);
  for (auto [count, what] : {std::pair(summary.nans, "NaN"), std::pair(summary.infinities, "inf")})
    if (count > 0) text += fmt::format("  {} in {} of {} elements", what, count, summary.elements);
  text += "  [";
  for (int64_t i = 0; i < std::min(summary.elements, kValuesShown); ++i)
    text += (i > 0 ? ", " : "") + element_text(literal, i);
  return text + (summary.elements > kValuesShown ? ", ...]" : "]");
}

Json json_of_output(const std::string& name, const Literal& literal) {
  TensorSummary summary = summarize(literal);
  return {{"name", name},
          {"dtype", dtype_name(literal.type().dtype)},
          {"shape", literal.type().shape},
          {"min", summary.min},
          {"max", summary.max},
          {"mean", summary.mean},
          {"nans", summary.nans},
          {"infinities", summary.infinities}};
}

}  // namespace tuff
