// Element types and tensor types of tuff.h and of ours.
#pragma once

#include "frontend/c/include/tuff.h"
#include "ir/type.h"

namespace tuff::c {

// Errors: kUsage for what is no dtype.
Result<DType> dtype_of(tuff_dtype dtype);
inline tuff_dtype dtype_of(DType dtype) { return static_cast<tuff_dtype>(dtype); }

// Errors: kUsage for what is no type, or more elements than can be counted.
Result<TensorType> type_of(const tuff_tensor_type* type);
// A view on `type`, which must stay.
tuff_tensor_type view_of(const TensorType& type);

}  // namespace tuff::c
