// Gathers from, and scatters into, a dimension that is spread: each device looks up what its part
// has.
#pragma once

#include <optional>

#include "ir/graph.h"
#include "ir/spmd/mesh.h"
#include "ir/spmd/reshard.h"

namespace tuff::spmd {

// The dimension along which a gather takes single elements, or a scatter puts them, by indices of
// one number; nothing for others.
std::optional<size_t> indexed_dimension(const Graph& whole, const Node& node);

// Indices into a dimension of `extent`, as indices into the device's part of it. What lies
// elsewhere is outside of the part. Where `clamps`, indices outside of the whole are those at its
// ends, as a gather has it.
Value indices_in_part(PartBuilder& builder, Graph& part, Value indices, int64_t extent, bool clamps,
                      const std::vector<int64_t>& over, const std::string& loc);

// What was gathered by such indices, with zeros where the element is in another device's part.
Value own_elements(Graph& part, const Node& gather, Value gathered, Value indices,
                   int64_t part_extent);

}  // namespace tuff::spmd
