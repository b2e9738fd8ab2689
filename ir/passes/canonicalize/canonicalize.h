// One spelling for each thing that can be said in several ways.
#pragma once

#include "ir/pass.h"

namespace tuff {

// Algebra, views, indexing and control flow in their simplest form, so that later
// passes look for one pattern only. No rewrite changes a bit of any result (the
// payload of a NaN excepted): x + 0 stays, because of x = -0. Constants stand on
// the right of commutative ops, splats are scalar constants under one broadcast,
// chains of views of one kind are one view, constants are inside the loops and
// branches that use them.
Result<Graph> canonicalize(const Graph& graph, const PassContext& context);

}  // namespace tuff
