// What every graph must satisfy between any two steps.
#pragma once

#include "ir/graph.h"

namespace tuff {

// Checks the graph's invariants (ir/graph.h), each node's types against its op's
// rule (ir/infer/infer.h), and all of its regions. The error names the node, its source
// location, what was expected and what was found.
Status verify(const Graph& graph);

}  // namespace tuff
