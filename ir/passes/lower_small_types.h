// lower_small_types: bytes in place of floats of 8 and 4 bits and of integers of 4 and 2 bits.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace tuff {

// A node of the graph, or one in its regions, has a small type.
bool has_small_types(const Graph& graph);

// Readers make graphs with the small types that a model has, and end with this: no later pass and
// no device knows them. What moves elements moves bytes (as_parts). What computes with them does so
// in f32, or in bytes for integers, and its results are rounded or wrapped once; sums of a
// reduction are not rounded on the way. `clean`: which parameters have no unknown bits above an
// element's own (a weight that a reader unpacked); a missing entry is false.
// Errors: kUnsupported with the operation, the type and the place.
Result<Graph> lower_small_types(const Graph& graph, const std::vector<bool>& clean = {});

}  // namespace tuff
