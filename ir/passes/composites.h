// Finds composites where a graph spells them out, and spells them: what knows their members.
#pragma once

#include "ir/composite.h"
#include "ir/group/group_space.h"

namespace tuff {

// The attention that ends in this dot_general, if it is spelled like one.
std::optional<Attention> find_attention(const Graph& graph, uint32_t values);

// The composite of rows that is all of this region, if it is spelled like one.
Composite find_row_composite(const Graph& region);

// The gelus among the region's nodes. They are found by what they compute: the elementwise
// operations between a value and the result are evaluated at sample points, so no spelling is
// listed here.
Gelu find_gelus(const Graph& region);

// The composite of the region's parameters, spelled as the functions above find it once it is
// canonical: a graph of the same parameters and output. Nothing for what has no spelling of its
// own. loc: of the nodes.
std::optional<Graph> spell_composite(const Graph& region, const Composite& composite,
                                     const std::string& loc);

// The attributes of the fused node with this region: its kind, and what it is as a whole.
Attrs group_attrs(GroupKind kind, const Graph& region);

}  // namespace tuff
