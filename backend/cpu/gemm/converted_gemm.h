// Matmul of what oneDNN has nothing for: narrow floats, and layouts that it misreads.
#pragma once

#include "backend/cpu/derived_operand.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// Computed in f32 on converted pieces of the operands, each a few MB: a converted copy of
// all weights might not fit in memory.
Result<LibraryCallPtr> create_converted_matmul(const MatmulCall& call, const LaneTable& table,
                                               DerivedOwner& owner);

}  // namespace tuff::cpu
