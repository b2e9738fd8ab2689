// Loops of little work as kernels.
//
// A device takes microseconds to begin each kernel of a round, and the host reads whether a loop
// goes on. Where one workgroup does a round in less, it does all rounds, with barriers between
// what were kernels; what is carried stays where it is in memory.
#pragma once

#include "backend/program.h"
#include "ir/caps.h"

namespace tuff {

// Of a device that runs kernels as Vulkan does. Barriers stand already. A counted loop becomes a
// dispatch, or a loop of them where one would take too long; any other a loop around a dispatch
// of so many rounds. True where there is one now.
bool join_loops(Program& program, const Caps& caps);

}  // namespace tuff
