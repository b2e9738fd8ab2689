// Results that are put together of boxes of their operands.
#pragma once

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

LibraryCallPtr create_copy(const CopyCall& call, const LaneTable& table);

}  // namespace tuff::cpu
