// ONNX's numbers of element types, for those that do not see protobuf.
#pragma once

#include "ir/type.h"

namespace tuff::onnx {

// The element type of ONNX's number for it. Errors: kUnsupported by name for those that tuff has
// not.
Result<DType> read_dtype(int32_t number);
// The same; throws Refusal.
DType dtype_of(int64_t number);

}  // namespace tuff::onnx
