// What passes between lanes by shuffles, with no shared memory and no barrier.
#pragma once

#include <set>

#include "ir/caps.h"
#include "shaders/kernel/kernel.h"

namespace tuff {

// Where a workgroup is one whole subgroup. (Shared memory and barriers cost a software
// rasteriser several times the work around them.)
struct Shuffles {
  // Shared arrays with one element per lane, each written by its own lane only, all lanes
  // taking part: they live in a register and are read with subgroupShuffle.
  std::set<uint32_t> arrays;
  std::set<const Stmt*> reduces;  // kReduceLanes
  // On GPUs, where a workgroup is several whole subgroups: kReduceLanes that pass one value of
  // each subgroup through shared memory.
  std::set<const Stmt*> in_subgroups;
};
Shuffles find_shuffles(const Kernel& kernel, const Caps& caps);

}  // namespace tuff
