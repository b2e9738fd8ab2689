// What a sort's comparator compares, where that is keys one after another.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace tuff {

// One of both elements: `graph` makes it of a scalar of each of the sort's operands. Integers are
// in their order, floats in the total order.
struct SortKey {
  Graph graph;
  bool descending = false;
};

// The first key decides, equal ones by the next. Nothing for a comparator of another form.
std::optional<std::vector<SortKey>> sort_keys(const Graph& comparator);

}  // namespace tuff
