// Finds composites where a graph spells them out: the one place that knows their members.
#pragma once

#include "ir/composite.h"
#include "ir/group_space.h"

namespace tuff {

// The attention that ends in this dot_general, if it is spelled like one.
std::optional<Attention> find_attention(const Graph& graph, uint32_t values);

// The attributes of the fused node with this region: its kind, and what it is as a whole.
Attrs group_attrs(GroupKind kind, const Graph& region);

}  // namespace tuff
