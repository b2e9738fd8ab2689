// Convolution by oneDNN.
#pragma once

#include "backend/cpu/lane_table.h"
#include "backend/cpu/library_call.h"
#include "backend/program.h"

namespace tuff::cpu {

// Errors: kUnsupported for what oneDNN cannot do.
Result<LibraryCallPtr> create_convolution(const ConvolutionCall& call, const LaneTable& table);

}  // namespace tuff::cpu
