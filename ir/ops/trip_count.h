// Counted loops: how often a while runs, where that can be read off its text.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace tuff {

// The body's runs, if the loop counts: a carried integer starts as a constant, the body
// adds a constant to it, and the condition compares it with a constant. Nothing where the
// count is not known or the counter would wrap. `loop` is a while of `graph`.
std::optional<int64_t> known_trip_count(const Graph& graph, const Node& loop);

// What the body adds to the carried value `i`, an integer, in each round; nothing where that is no
// known constant.
std::optional<int64_t> round_step(const Graph& graph, const Node& loop, uint32_t i);

}  // namespace tuff
