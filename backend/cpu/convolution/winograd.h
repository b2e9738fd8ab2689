// Convolutions with 3x3 windows by Winograd's minimal filtering.
#pragma once

#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// A call with a winograd_tile. All is f32; its sums are those of the transformed numbers, so that
// errors are relative to the largest products of a tile rather than to the result's own, and what
// is not finite in the source reaches all results of its tiles, as NaN.
LibraryCallPtr create_winograd(const ConvolutionCall& call, const LaneTable& table);

}  // namespace tuff::cpu
