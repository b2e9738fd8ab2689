// tabulate_bytes: elementwise work on one byte becomes a table of its 256 values, or nothing.
#pragma once

#include "ir/pass.h"

namespace tuff {

// A quantised network's activation, f(convert(byte) ...) with constants, is known for each byte
// when the graph is compiled. The table's entries are the reference evaluator's. Where they are the
// bytes themselves, as of what is quantised again by the same scale, the byte takes the value's
// place. Reshapes and transposes on the way go below. For devices that call a library for
// contractions (Caps::library_calls): others compute such a function in the time of a look-up.
Result<Graph> tabulate_bytes(const Graph& graph, const PassContext& context);

}  // namespace tuff
