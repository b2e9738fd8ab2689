// Elements of memory whose values are in registers: what one kernel of a loop has stored for the
// next.
#pragma once

#include <map>
#include <optional>

#include "backend/cpu/native/lane_values.h"

namespace tuff::cpu::native {

// Offsets are those in the arena, or kScratchSpace and those in scratch memory.
inline constexpr int64_t kScratchSpace = int64_t{1} << 40;

// Holds along straight code. Whoever writes code that may change memory, or a label, says so.
class KnownMemory {
 public:
  void forget_all() { values_.clear(); }
  void forget(int64_t offset, int64_t size) {
    auto it = values_.lower_bound(offset - kMostBytes + 1);
    while (it != values_.end() && it->first < offset + size)
      it = it->first + it->second.size * it->second.lanes > offset ? values_.erase(it)
                                                                   : std::next(it);
  }
  // The first `lanes` of a value, as neighbours of `size` bytes each.
  void set(int64_t offset, int64_t size, int64_t lanes, const LaneValue& value) {
    forget(offset, size * lanes);
    values_[offset] = {size, lanes, value};
  }
  // A value and the first of its lanes that were asked for.
  struct Found {
    LaneValue value;
    int64_t lane = 0;
  };
  std::optional<Found> find_row(int64_t offset, Kind kind, int64_t lanes) const {
    auto it = values_.upper_bound(offset);
    if (it == values_.begin()) return std::nullopt;
    const auto& [at, row] = *--it;
    const int64_t lane = (offset - at) / row.size;
    if (row.value.kind != kind || at + lane * row.size != offset || lane + lanes > row.lanes)
      return std::nullopt;
    return Found{row.value, lane};
  }
  // One element where it is in lane 0, of all lanes; a vector may have it there only.
  std::optional<LaneValue> find(int64_t offset, Kind kind) const {
    std::optional<Found> found = find_row(offset, kind, 1);
    if (!found || found->lane != 0) return std::nullopt;
    found->value.lanes.fill(found->value.lanes[0]);
    return found->value;
  }

 private:
  static constexpr int64_t kMostBytes = 64;
  struct Row {
    int64_t size = 4;  // of an element, in bytes
    int64_t lanes = 1;
    LaneValue value;
  };
  std::map<int64_t, Row> values_;
};

}  // namespace tuff::cpu::native
