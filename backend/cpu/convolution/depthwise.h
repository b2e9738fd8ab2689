// Convolutions of each channel by itself.
#pragma once

#include "backend/cpu/derived_operand.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// A call that is_depthwise. stable_weights: they may be the same in many runs; then their rows of
// channels may be kept.
LibraryCallPtr create_depthwise(const ConvolutionCall& call, bool stable_weights,
                                const LaneTable& table, DerivedOwner& owner);

}  // namespace tuff::cpu
