// Products of f32 with few results, each of which is a long sum.
#pragma once

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// The sums are cut into parts by the sizes alone and added up in order, so that a result does not
// depend on the number of threads.
bool is_long_product(const MatmulCall& call);

LibraryCallPtr create_long_product(const MatmulCall& call, const LaneTable& table);

}  // namespace tuff::cpu
