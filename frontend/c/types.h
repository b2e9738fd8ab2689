// Element types and tensor types of tuff.h and of ours.
#pragma once

#include "frontend/c/include/tuff.h"
#include "ir/type.h"

namespace tuff::c {

// Errors: kUsage for what is no dtype.
Result<DType> dtype_of(tuff_dtype dtype);
inline tuff_dtype dtype_of(DType dtype) { return static_cast<tuff_dtype>(dtype); }

// Errors: kUsage for more dimensions than any tensor has, negative sizes, or more elements than can
// be counted.
Result<Shape> shape_of(const int64_t* sizes, int64_t rank, const char* name);
// Errors: those, and kUsage for what is no dtype.
Result<TensorType> type_of(const tuff_tensor_type* type);
// A view on `type`, which must stay.
tuff_tensor_type view_of(const TensorType& type);

}  // namespace tuff::c
