// Matrices times vectors, or times few of them, where the rows that are multiplied lie side by
// side: they are read once, as they lie, at the memory's speed. Weights are not packed for it.
#pragma once

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// Whether it is a product of that kind, or its transpose is, with post-ops of one pass.
bool is_dot_product(const MatmulCall& call, const LaneTable& table);

// is_dot_product(call, table).
LibraryCallPtr create_dot_product(const MatmulCall& call, const LaneTable& table);

}  // namespace tuff::cpu
