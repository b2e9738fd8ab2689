#include "backend/plan/ranges.h"

#include <fmt/format.h>

namespace tuff {

std::string range_text(const Range& r) {
  constexpr const char* kSpaces[] = {"arena", "argument", "output", "constant"};
  if (r.space == Range::Space::kArena)
    return fmt::format("arena[{}+{}]", r.offset_bytes, r.size_bytes);
  return fmt::format("{} {}", kSpaces[static_cast<int>(r.space)], r.index);
}

}  // namespace tuff
