// order: puts the groups of a graph into the order, of a few tried, whose
// temporaries need the least memory at their peak.
//
// A graph says what depends on what, not when to run; the order it is written in
// keeps, in a training step, every activation until the updates at its end. Two moves
// are tried. A node that holds more memory than it lets go of is sunk to just before
// its first user. A node that lets go of memory (or only writes outputs, as the update
// of a parameter does) is hoisted to where its operands are ready.
#pragma once

#include "ir/pass.h"

namespace tuff {

Result<Graph> order(const Graph& graph, const PassContext& context);

}  // namespace tuff
