#include "frontend/cli/quantity.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace tuff::cli {

std::optional<double> quantity(std::string_view text, std::string_view unit) {
  if (!text.ends_with(unit)) return std::nullopt;
  text.remove_suffix(unit.size());
  double scale = 1;
  constexpr std::pair<char, double> kPrefixes[] = {
      {'n', 1e-9}, {'u', 1e-6}, {'m', 1e-3}, {'k', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}};
  for (auto [prefix, factor] : kPrefixes)
    if (text.ends_with(prefix)) {
      scale = factor;
      text.remove_suffix(1);
      break;
    }
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !std::isfinite(number) || number <= 0) return std::nullopt;
  return number * scale;
}

Result<std::vector<int64_t>> parse_extents(const std::string& text, const std::string& option) {
  constexpr int64_t kMost = 1 << 20;  // devices
  std::vector<int64_t> extents;
  int64_t left = kMost;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    int64_t extent = 0;
    auto [next, error] = std::from_chars(at, end, extent);
    bool good = error == std::errc() && extent >= 1 && extent <= left;
    if (!good || (next != end && *next != 'x'))
      return Error{ErrorCode::kUsage,
                   fmt::format("({}) is no mesh; write the devices along each axis, as in 64x8, of "
                               "{} devices at most.",
                               text, kMost),
                   option};
    left /= extent;
    extents.push_back(extent);
    if (next == end) return extents;
    at = next + 1;
  }
}

}  // namespace tuff::cli
