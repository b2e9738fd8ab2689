// Matmul: products with weights by our own register tiles, the rest by oneDNN.
#pragma once

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "backend/program.h"

namespace tuff::cpu {

// stable_a, stable_b: the operand may be the same contents in many runs (an argument
// or a constant), so that a packed copy can pay.
Result<LibraryCallPtr> create_matmul(const MatmulCall& call, bool stable_a, bool stable_b,
                                     const LaneTable& table);

}  // namespace tuff::cpu
