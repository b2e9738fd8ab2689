// hoist_invariants: what a loop computes anew in each round from what no round changes.
#pragma once

#include "ir/pass.h"

namespace tuff {

// Computes in front of each while what its body makes of carries that it hands on as they are:
// elementwise work, reductions, contractions and what lies between them. Carried from there on.
// Only what is worth keeping: some work, and no more bytes than the largest of what it is made of.
Result<Graph> hoist_invariants(const Graph& graph, const PassContext& context);

}  // namespace tuff
