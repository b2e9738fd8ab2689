// Single elements of the arena whose values are in registers: what one kernel of a loop has stored
// for the next.
#pragma once

#include <map>
#include <optional>

#include "backend/cpu/native/lane_values.h"

namespace tuff::cpu::native {

// Holds along straight code. Whoever writes code that may change the arena, or a label, says so.
class KnownMemory {
 public:
  void forget_all() { values_.clear(); }
  void forget(int64_t offset, int64_t size) {
    auto it = values_.lower_bound(offset - kMaxSize + 1);
    while (it != values_.end() && it->first < offset + size)
      it = it->first + it->second.size > offset ? values_.erase(it) : std::next(it);
  }
  void set(int64_t offset, int64_t size, LaneValue value) {
    forget(offset, size);
    value.lanes.fill(value.lanes[0]);
    values_[offset] = {size, value};
  }
  // Of all lanes; a vector has the value in lane 0.
  std::optional<LaneValue> find(int64_t offset, Kind kind) const {
    auto it = values_.find(offset);
    if (it == values_.end() || it->second.value.kind != kind) return std::nullopt;
    return it->second.value;
  }

 private:
  static constexpr int64_t kMaxSize = 4;
  struct Element {
    int64_t size = 4;
    LaneValue value;
  };
  std::map<int64_t, Element> values_;
};

}  // namespace tuff::cpu::native
