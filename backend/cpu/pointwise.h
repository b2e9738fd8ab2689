// Convolutions whose windows are one pixel, by our own register tiles.
#pragma once

#include "backend/cpu/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// What multiplies each pixel's channels, is_shallow_pointwise(call), in one pass over memory
// whatever follows: oneDNN's relu loses NaN, so that there it is a pass of its own.
LibraryCallPtr create_pointwise(const ConvolutionCall& call, const LaneTable& table);

}  // namespace tuff::cpu
