// Matrices times vectors, or times few of them: rows whose elements lie side by side are read once,
// as they are, at the memory's speed. Weights are not packed for it.
#pragma once

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// Whether it is a product of f32 of that kind, or its transpose is, with post-ops of one pass.
bool is_dot_product(const MatmulCall& call);

// is_dot_product(call).
LibraryCallPtr create_dot_product(const MatmulCall& call, const LaneTable& table);

}  // namespace tuff::cpu
