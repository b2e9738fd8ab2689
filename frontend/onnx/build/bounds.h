// Tensors whose length the data says, through the operators that they go through.
#pragma once

#include "frontend/onnx/build/call.h"

namespace tuff::onnx {

// Gives the results of a call the bounds that its inputs have. Refuses operators that would mix
// what counts with what does not.
void pass_bounds(const Call& call, Items* results);

}  // namespace tuff::onnx
