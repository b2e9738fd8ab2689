// Phases: what a GPU may run side by side, as far as values and the order of instructions say.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/plan/plan.h"
#include "backend/plan/slot_code.h"

namespace tuff {

// By position: the phases that its instruction begins and ends in; barriers stand between phases.
struct Phases {
  std::vector<int64_t> first, last;
};
// Nothing where control or the host decides what runs next. homes: by slot, the slot that stands
// for it.
std::optional<Phases> find_phases(const SlotProgram& program, const std::vector<uint32_t>& homes,
                                  const std::vector<Donation>& donations);

// The lifetimes in phases. Memory that is taken anew in a later phase than it was read last
// makes no step wait for another one.
std::vector<Lifetime> in_phases(const std::vector<Lifetime>& lifetimes, const Phases& phases);

}  // namespace tuff
