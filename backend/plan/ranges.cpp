#include "backend/plan/ranges.h"

#include <fmt/format.h>

#include <algorithm>

namespace tuff {

int64_t arena_segment_bytes(const Caps& caps) {
  // Drivers round buffers up to pages, which must not take them beyond the limit.
  constexpr int64_t kPage = int64_t{64} << 10;
  int64_t unit = caps.min_storage_offset_alignment;
  if (caps.max_allocation_bytes >= kPage) unit = std::max(unit, kPage);
  return std::max(caps.max_allocation_bytes / unit, int64_t{1}) * unit;
}

std::string range_text(const Range& r) {
  constexpr const char* kSpaces[] = {"arena", "argument", "output", "constant"};
  if (r.space == Range::Space::kArena)
    return fmt::format("arena[{}+{}]", r.offset_bytes, r.size_bytes);
  return fmt::format("{} {}", kSpaces[static_cast<int>(r.space)], r.index);
}

}  // namespace tuff
