// Ops that are a mix of others, spelled out.
#pragma once

#include "ir/pass.h"

namespace tuff {

// After it, a graph has none of these:
//   batch_norm_*, map, rng_bit_generator, convolutions with batch groups; fft of short lines, or
//   of any where the device calls no library;
//   cholesky and triangular_solve of matrices that are too large for a kernel;
//   scalars that stand for a whole tensor in select and clamp;
//   dense constants of equal elements;
//   reductions whose body works in a wider element type than their input.
// The expansions are the StableHLO specification's.
Result<Graph> decompose(const Graph& graph, const PassContext& context);

}  // namespace tuff
