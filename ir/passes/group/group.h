// Groups nodes into kernels: the heart of tuff.
#pragma once

#include "ir/pass.h"

namespace tuff {

// Replaces nodes by `fused` nodes, each of which becomes one kernel. Walks the
// graph once. Every node that does work starts as a group of its own. It joins the
// group of an operand where the fusion table wants it, a common iteration space
// exists (find_group_space), the kernel fits the device and no cycle arises.
// Views, iota and small constants are not work: each group that reads through them
// gets its own copy as index arithmetic. Ops without a kernel family stay as they are;
// the blocks of control flow are grouped each by itself, and a while that counts gets
// its trip_count.
Result<Graph> group(const Graph& graph, const PassContext& context);

// The same without joining: one kernel per op. Runs after `group`, so that every
// op has a kernel when `group` is disabled; a no-op otherwise.
Result<Graph> isolate(const Graph& graph, const PassContext& context);

}  // namespace tuff
