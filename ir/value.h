// Value: one result of one node of a graph.
#pragma once

#include <compare>
#include <cstdint>

namespace tuff {

struct Value {
  uint32_t node = 0;
  uint32_t result = 0;
  auto operator<=>(const Value&) const = default;
};

}  // namespace tuff
