// drop_barriers: optimization_barrier keeps passes from moving work across it; once
// they have run, it is nothing but its operands.
#pragma once

#include "ir/pass.h"

namespace tuff {

Result<Graph> drop_barriers(const Graph& graph, const PassContext& context);

}  // namespace tuff
