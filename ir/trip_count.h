// Counted loops: how often a while runs, where that can be read off its text.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace tuff {

// Attribute of a while: how often its body runs. Set by the group pass, for what
// comes after it: inside groups nobody sees a counter any more.
inline constexpr const char* kTripCount = "trip_count";

// The body's runs, if the loop counts: a carried integer that starts as a constant, to
// which the body adds a constant, is compared with a constant; nothing where the count
// is not known or the counter would wrap. `loop` is a while of `graph`.
std::optional<int64_t> known_trip_count(const Graph& graph, const Node& loop);

}  // namespace tuff
