// What values the elements of an integer tensor can have.
#pragma once

#include <map>

#include "ir/graph.h"

namespace tuff {

// From low to high, both included. u64 values above INT64_MAX are outside of what a range can
// say: where they are possible, the range is everything.
struct IntegerRange {
  int64_t low = INT64_MIN, high = INT64_MAX;
  bool within(const IntegerRange& other) const { return other.low <= low && high <= other.high; }
  bool operator==(const IntegerRange&) const = default;
};

constexpr IntegerRange kRangeOfI32{INT32_MIN, INT32_MAX};

// The ranges of a graph that is being made: nodes may be added, none may change.
class IntegerRanges {
 public:
  // Of an integer or bool value.
  IntegerRange of(const Graph& graph, Value v);

 private:
  std::map<Value, IntegerRange> known_;
};

}  // namespace tuff
