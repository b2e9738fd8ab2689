// Random well-typed graphs of every operation that a device may be given.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace tuff::fuzz {

// The graph of a seed: 3 to 16 operations over sizes that hurt (0, 1, primes, more than
// one work-group), results that are hard to compare never computed on.
Graph make_graph(uint32_t seed);

// The rows of op.def that make_graph can give; the others need a form that no graph from
// outside has (parameter, constant, fused ...) or that tuff has no types for (fft).
bool is_generated(Op op);

}  // namespace tuff::fuzz
