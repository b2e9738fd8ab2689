// Where the lanes of a workgroup must wait for each other.
#pragma once

#include <map>
#include <set>

#include "shaders/emit/emit_glsl_shuffle.h"
#include "shaders/kernel/kernel.h"

namespace tuff {

struct BarrierPlan {
  // Statements to put a barrier before; true where it must also make stores to
  // buffers visible.
  std::map<const Stmt*, bool> before;
  std::set<uint32_t> buffers;  // buffers that lanes pass values through
};

// A barrier stands before each lane loop, reduce_lanes or uniform access that
// conflicts with what happened since the last barrier: both touch a shared array
// (or a buffer) and one of them writes. A serial loop's last iteration also
// counts as "before" its first statements. Barriers land outside lane loops only,
// where control flow is uniform.
// What goes by shuffles needs none.
BarrierPlan plan_barriers(const Kernel& kernel, const Shuffles& shuffles);

}  // namespace tuff
