// order_effects: what has effects waits for what had effects before it. Each such host_call takes
// a token, a boolean that nobody looks at, and gives the next one; loops and branches with effects
// in them hand it on. So passes keep the order without knowing of it.
#pragma once

#include "ir/pass.h"

namespace tuff {

Result<Graph> order_effects(const Graph& graph, const PassContext& context);

}  // namespace tuff
