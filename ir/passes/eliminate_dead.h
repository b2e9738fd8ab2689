// Drops what nobody reads.
#pragma once

#include "ir/pass.h"

namespace tuff {

// Drops nodes that reach no output and have no effect, values that a while
// carries without need, results of if and case that nobody reads, and operands
// that no branch uses. Parameters of the graph itself stay: they are its signature.
Result<Graph> eliminate_dead(const Graph& graph, const PassContext& context);

}  // namespace tuff
