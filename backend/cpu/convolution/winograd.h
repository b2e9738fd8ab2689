// Convolutions with 3x3 windows by Winograd's minimal filtering.
#pragma once

#include "backend/cpu/derived_operand.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// A call with a winograd_tile. All is f32. Its sums are those of the transformed numbers, so errors
// are relative to the largest products of a tile rather than to the result's own. What is not
// finite in the source reaches all results of its tiles, as NaN.
// stable_weights: they may be the same in many runs. Then the transformed ones may be kept.
LibraryCallPtr create_winograd(const ConvolutionCall& call, bool stable_weights,
                               const LaneTable& table, DerivedOwner& owner);

}  // namespace tuff::cpu
