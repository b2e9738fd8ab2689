// Loops whose bodies exchange data, written out: segments end where devices meet, and a
// loop cannot be in several.
#pragma once

#include <optional>
#include <set>

#include "ir/graph.h"

namespace tuff {

// The graph without the loops that know of several devices (ir/spmd/collective.h) and run
// a known number of times that is not too large; the others stay.
Graph unroll_exchanges(const Graph& graph);

// The graph without these of its whiles, in order as long as there is room; nothing where none can
// be written out.
std::optional<Graph> unroll_loops(const Graph& graph, const std::set<uint32_t>& loops);

// Some node of the graph or of its regions is an operation of several devices.
bool knows_devices(const Graph& graph);

}  // namespace tuff
