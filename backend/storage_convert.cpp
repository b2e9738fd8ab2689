#include "backend/storage_convert.h"

#include "shaders/storage.h"

namespace tuff {

namespace {

Literal convert_elements(const Literal& from, DType dtype) {
  Literal to(TensorType{dtype, from.type().shape});
  for (int64_t i = 0; i < from.num_elements(); ++i) {
    if (is_float(dtype))
      to.set_double(i, from.get_double(i));
    else
      to.set_int(i, from.get_int(i));
  }
  return to;
}

}  // namespace

TensorType stored_type(const TensorType& type, const Caps& caps) {
  TensorType parts = as_parts(type);
  parts.dtype = storage_dtype(parts.dtype, caps);
  return parts;
}

Literal to_storage(const Literal& value, const Caps& caps) {
  Literal parts = as_parts(value);
  DType dtype = storage_dtype(parts.type().dtype, caps);
  return dtype == parts.type().dtype ? parts : convert_elements(parts, dtype);
}

Literal from_storage(const Literal& stored, const TensorType& type) {
  DType dtype = as_parts(type).dtype;
  return (stored.type().dtype == dtype ? stored : convert_elements(stored, dtype)).with_type(type);
}

}  // namespace tuff
