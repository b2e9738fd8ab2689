// recompute: a group that reads several values which another group could compute
// elementwise from one of them reads only that one, and computes the others again.
//
// The gradient of a gelu, say, wants the erf, the exponential and the product that
// the forward pass had in registers: keeping the pre-activation instead of all three
// saves their memory, and their way to memory and back, for a few operations more.
#pragma once

#include "ir/pass.h"

namespace tuff {

Result<Graph> recompute(const Graph& graph, const PassContext& context);

}  // namespace tuff
