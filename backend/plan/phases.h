// Phases: what a GPU may run side by side. Barriers stand between phases only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "backend/plan/plan.h"
#include "backend/plan/slot_code.h"

namespace tuff {

// A step's phase is the first in which all that it needs is there, and nothing that it overwrites
// is still wanted; an instruction begins in no earlier phase than the one before it. So memory that
// is taken in a later phase than it was used last is free in the order of instructions, too.
struct Phases {
  std::map<int64_t, std::vector<int64_t>> of_steps;  // by position: those of the group, or the copy
  // By home: the phases in which the first instruction that touches it begins and the last ends.
  std::map<uint32_t, Lifetime> of_homes;
  int64_t last = 0;
};
// Nothing where control or the host decides what runs next. homes: by slot, the slot that stands
// for it.
std::optional<Phases> find_phases(const SlotProgram& program, const std::vector<uint32_t>& homes,
                                  const std::vector<Kernel>& kernels,
                                  const std::vector<Donation>& donations);

}  // namespace tuff
