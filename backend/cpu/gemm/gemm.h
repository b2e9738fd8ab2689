// Matmul by oneDNN.
#pragma once

#include "backend/cpu/derived_operand.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// stable_a, stable_b: the operand may be the same contents in many runs (an argument
// or a constant), so that a packed copy can pay. Errors: kUnsupported where oneDNN has no fast
// code for the types, or misreads the layout.
Result<LibraryCallPtr> create_onednn_matmul(const MatmulCall& call, bool stable_a, bool stable_b,
                                            const LaneTable& table, DerivedOwner& owner);

}  // namespace tuff::cpu
