// reduce_window over rows of elements that lie side by side.
#pragma once

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

LibraryCallPtr create_window(const WindowCall& call, const LaneTable& table);

}  // namespace tuff::cpu
