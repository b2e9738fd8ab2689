// What the device has no kernel for goes to the CPU, and says why.
#pragma once

#include <optional>
#include <string>

#include "ir/pass.h"

namespace tuff {

// True iff the device runs C++, which also computes what shaders have no body for:
// series in f64.
inline bool has_host_functions(const Caps& caps) { return caps.device_class == DeviceClass::kCpu; }

// Functions computed as series.
bool is_series(Op op);

// Why no kernel of the device computes the node; nothing when one does. All that is
// known about missing kernels stands here: grouping and lowering rely on it.
std::optional<std::string> kernel_missing(const Graph& graph, const Node& node, const Caps& caps);

// Wraps nodes without a kernel into `hosted` nodes: those that wait for the same
// earlier ones share one, and cheap work between two of them is done there too. A
// control flow node goes as a whole where anything in its regions has no kernel.
Result<Graph> place(const Graph& graph, const PassContext& context);

}  // namespace tuff
