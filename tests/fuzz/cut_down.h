// A failing graph made small enough to read.
#pragma once

#include <functional>

#include "ir/graph.h"

namespace tuff::fuzz {

// One output of the graph, computed by as few operations as still fail: what is above
// them becomes parameters. `fails` is called for every candidate.
Graph cut_down(const Graph& graph, const std::function<bool(const Graph&)>& fails);

}  // namespace tuff::fuzz
