#include "frontend/session/measure.h"

#include <fmt/format.h>

#include <iterator>

namespace tuff {

std::string format_bytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_ms(double ms) {
  if (ms >= 1000) return fmt::format("{:.2f} s", ms / 1000);
  return fmt::format("{:.{}f} ms", ms, ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : 3);
}

}  // namespace tuff
