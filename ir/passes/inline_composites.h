// Opens what a reader left as a composite.
#pragma once

#include "ir/pass.h"

namespace tuff {

// Replaces each fused node of a reader's by what it computes. Where its region is not spelled as
// composites are found in groups (composites.h), but agrees with the composite that the reader
// says it is, that composite takes its place, spelled as it is found; else the region does. So
// what a reader says decides how fast a program is, and its region what it computes. Regions are
// compared at sample arguments, by context.evaluate_node; without it, and where that would take
// long, they stand as they are.
Result<Graph> inline_composites(const Graph& graph, const PassContext& context);

}  // namespace tuff
