// Softmax over rows that stay in the first-level cache from their first to their
// last look.
#pragma once

#include "backend/cpu/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

LibraryCallPtr create_softmax(const SoftmaxCall& call, const LaneTable& table);

}  // namespace tuff::cpu
