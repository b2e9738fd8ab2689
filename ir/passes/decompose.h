// Ops that are a mix of others, spelled out.
#pragma once

#include "ir/pass.h"

namespace tuff {

// After it, a graph has no batch_norm_*, no map, no rng_bit_generator, no convolution
// with batch groups, no scalar that stands for a whole tensor in select and clamp, no
// dense constant of equal elements, and no reduction whose body works in a wider element
// type than its input. The expansions are the StableHLO specification's.
Result<Graph> decompose(const Graph& graph, const PassContext& context);

}  // namespace tuff
