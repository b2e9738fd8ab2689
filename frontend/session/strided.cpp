#include "frontend/session/strided.h"

#include <cstring>

namespace tuff {

bool is_row_major(const TensorType& type, const int64_t* byte_strides) {
  std::vector<int64_t> dense = row_major_strides(type.shape);
  for (size_t i = 0; i < dense.size(); ++i)
    if (type.shape[i] > 1 && byte_strides[i] != dense[i] * dtype_size(type.dtype)) return false;
  return true;
}

Literal gather_strided(const TensorType& type, const std::byte* data, const int64_t* strides) {
  Literal literal(type);
  std::byte* to = literal.mutable_bytes();
  size_t size = static_cast<size_t>(dtype_size(type.dtype));
  std::vector<int64_t> index(type.shape.size(), 0);
  for (int64_t n = literal.num_elements(); n > 0; --n) {
    std::memcpy(to, data, size);
    to += size;
    for (size_t d = index.size(); d-- > 0;) {
      data += strides[d];
      if (++index[d] < type.shape[d]) break;
      data -= strides[d] * type.shape[d];
      index[d] = 0;
    }
  }
  return literal;
}

}  // namespace tuff
