// Where lane arrays live and which of them need not exist. Parts of prepare_kernel.
#pragma once

#include "backend/cpu/kernels/kernel_program.h"

namespace tuff::cpu {

// Moves computes whose only user is a store or write to right before it: index arithmetic that
// stands between the two does not keep the result from being made in its place.
void sink_to_stores(KernelProgram& program);

// Marks computes whose result may be made straight in the memory that the next
// instruction would copy it to.
void mark_forwards(KernelProgram& program);

// Marks loads and reads that must copy: between them and the value's last use,
// something may write to where it came from. The others are read in place.
void mark_copies(KernelProgram& program);

// Gives every value of a lane loop an array of lanes in the thread's scratch.
// Values that are not alive together share arrays, last freed first, so that few
// stay hot. Grows scratch_bytes.
void place_slots(KernelProgram& program);

}  // namespace tuff::cpu
