// unroll: short counted loops are written out, so that later passes see through them.
#pragma once

#include "ir/pass.h"

namespace tuff {

// Replaces each while that is known to run at most 8 rounds, with at most 256 operations
// in all rounds together, by that many copies of its body.
Result<Graph> unroll(const Graph& graph, const PassContext& context);

}  // namespace tuff
