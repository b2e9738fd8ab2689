// Few vectors times a matrix whose rows lie side by side along the result: its rows are read once,
// as they lie, at the memory's speed, and added up. Weights are not packed for it.
#pragma once

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// Whether it is a product of that kind, or its transpose is, with post-ops of one pass.
bool is_row_sum_product(const MatmulCall& call, const LaneTable& table);

// is_row_sum_product(call, table).
LibraryCallPtr create_row_sum_product(const MatmulCall& call, const LaneTable& table);

}  // namespace tuff::cpu
