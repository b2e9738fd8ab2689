// Elements of memory whose values are in registers: what one kernel of a loop has stored for the
// next.
#pragma once

#include <map>
#include <optional>

#include "backend/cpu/native/lane_values.h"

namespace tuff::cpu::native {

// Where the offsets of a base begin. Memory that is written through one base is read through that
// one, so far as is known here: what a donated argument shares with an output is read again.
inline int64_t space_of(int64_t base) { return base << 40; }

// Holds along straight code. Whoever writes code that may change memory, or a label, says so.
class KnownMemory {
 public:
  struct Row {
    int64_t size = 4;  // of an element, in bytes
    int64_t lanes = 1;
    LaneValue value;
  };

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
  // What is known from this place on.
  std::optional<Row> row_at(int64_t offset) const {
    auto it = values_.find(offset);
    return it == values_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  static constexpr int64_t kMostBytes = 64;
  std::map<int64_t, Row> values_;
};

}  // namespace tuff::cpu::native
