// softmax(Q K^T) V over blocks of rows whose scores stay in the second-level cache from the
// first product to the last.
#pragma once

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// Errors: kUnsupported (of the kernel between scores and softmax) or kOutOfMemory.
Result<LibraryCallPtr> create_attention(const AttentionCall& call, const LaneTable& table);

}  // namespace tuff::cpu
