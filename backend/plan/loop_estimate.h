// What the rounds of a loop take: as kernels by themselves, and as one workgroup's work.
#pragma once

#include <cstdint>

#include "backend/program.h"
#include "ir/caps.h"

namespace tuff {

struct LoopEstimate {
  double together_us = 0;  // in one workgroup
  double apart_us = 0;     // at least: beginning kernels, and asking whether to go on
  double iterations = 0;   // of all serial loops, by one lane
  int64_t statements = 0;  // of all kernels
};

// One round. The steps are dispatches, copies and control.
LoopEstimate estimate_round(const Program& program, const Step& loop, const Caps& caps);

}  // namespace tuff
