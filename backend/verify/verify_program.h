// Is a program one that any device may run? Pure: needs no device. Written apart from the
// plan (plan.h, slot_code.h), so that it can find fault with it.
#pragma once

#include "backend/program.h"
#include "ir/caps.h"

namespace tuff {

// Checks that
//   * each kernel verifies and keeps to the device's limits, and each step has the operands that
//     its kernel or call needs;
//   * each range lies inside its argument, output, constant or the arena, aligned as the
//     device asks, and is no larger than the device can bind;
//   * nothing writes to constants, nor to arguments that no output replaces;
//   * what a step writes is apart from all else that it touches, but for an operand that its
//     kernel or call may find where the result goes;
//   * whatever path control takes, a range that is read was written as a whole, and no part of
//     it since; and at the end all outputs are written;
//   * steps that touch the same bytes, one of them writing, have a barrier between.
// Which value a range holds is for verify_values to say. Errors: kRunFailed naming the step.
Status verify_program(const Program& program, const Caps& caps);

}  // namespace tuff
