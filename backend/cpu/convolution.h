// Convolution by oneDNN.
#pragma once

#include "backend/cpu/library_call.h"
#include "backend/program.h"

namespace tuff::cpu {

// Errors: kUnsupported for what oneDNN cannot do.
Result<LibraryCallPtr> create_convolution(const ConvolutionCall& call);

}  // namespace tuff::cpu
