// Arrays of the host whose elements lie at any distance, as NumPy has them.
#pragma once

#include "ir/literal.h"

namespace tuff {

// One stride per dimension, in bytes, negative and 0 allowed.
bool is_row_major(const TensorType& type, const int64_t* byte_strides);
// The elements in row-major order.
Literal gather_strided(const TensorType& type, const std::byte* data, const int64_t* byte_strides);

}  // namespace tuff
