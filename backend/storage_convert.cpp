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
  return {storage_dtype(type.dtype, caps), type.shape};
}

Literal to_storage(const Literal& value, const Caps& caps) {
  DType dtype = storage_dtype(value.type().dtype, caps);
  return dtype == value.type().dtype ? value : convert_elements(value, dtype);
}

Literal from_storage(const Literal& stored, const TensorType& type) {
  return stored.type().dtype == type.dtype ? stored : convert_elements(stored, type.dtype);
}

}  // namespace tuff
