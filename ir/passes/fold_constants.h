// Computes what is known before any run.
#pragma once

#include "ir/pass.h"

namespace tuff {

// Replaces nodes whose operands are all constants by their value, up to 1 MiB of
// result and a bounded amount of work, through context.evaluate_node; without it
// nothing is folded. Broadcasts and iotas of more than 16 elements stay symbolic:
// they cost nothing to compute and their value would cost memory. A result of equal
// elements becomes a scalar constant and a broadcast. Control flow, random numbers
// and calls are never folded.
Result<Graph> fold_constants(const Graph& graph, const PassContext& context);

}  // namespace tuff
