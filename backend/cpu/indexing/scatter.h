// Updates of rows, one after another where they meet.
#pragma once

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

LibraryCallPtr create_scatter(const ScatterCall& call, const LaneTable& table);

}  // namespace tuff::cpu
