// Index arithmetic on values that are uniform or affine in the lane: a few scalar
// operations per block instead of a loop over its lanes.
#pragma once

#include "backend/cpu/kernels/kernel_program.h"
#include "backend/cpu/kernels/slot.h"

namespace tuff::cpu {

// Sets `out` to instr's result over n lanes where that needs no loop over lanes (or,
// for quotients, a cheap one); false: nothing was done. Operands b and c are null
// where the op has none. instr.affine must be set.
bool fold_affine(const Instr& instr, int64_t n, Slot& out, const Slot& a, const Slot* b,
                 const Slot* c);

// The value of the last of n lanes, in *last; false if a lane wraps around on the
// way, so that the lanes are not monotonic.
bool last_lane(const Slot& slot, int64_t n, int64_t* last);

}  // namespace tuff::cpu
