// split_concatenates: a kernel binds only so many buffers, so a concatenate of more operands than
// that becomes a concatenate of concatenates.
#pragma once

#include "ir/pass.h"

namespace tuff {

Result<Graph> split_concatenates(const Graph& graph, const PassContext& context);

}  // namespace tuff
