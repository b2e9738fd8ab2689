#include "frontend/pjrt/tensor_io.h"

#include <cstring>

#include "backend/storage_convert.h"
#include "frontend/session/device.h"
#include "shaders/storage.h"

namespace tuff::pjrt {

Status read_tensor(Device& device, const Buffer& memory, const TensorType& type, std::byte* to) {
  auto size = static_cast<size_t>(type.size_bytes());
  if (size == 0) return {};
  DType dtype = storage_dtype(type.dtype, device.caps());
  if (dtype == type.dtype) return device.read(memory, 0, {to, size});
  Literal stored(TensorType{dtype, type.shape});
  TUFF_RETURN_IF_ERROR(
      device.read(memory, 0, {stored.mutable_bytes(), static_cast<size_t>(stored.size_bytes())}));
  std::memcpy(to, from_storage(stored, type).bytes(), size);
  return {};
}

Result<Literal> read_literal(Device& device, const BufferPtr& memory, const TensorType& type) {
  bool in_place = is_host(device.caps()) && type.num_elements() > 0 &&
                  storage_dtype(type.dtype, device.caps()) == type.dtype;
  if (in_place) return Literal(type, host_memory(*memory), memory);
  Literal value(type);
  TUFF_RETURN_IF_ERROR(read_tensor(device, *memory, type, value.mutable_bytes()));
  return value;
}

Result<BufferPtr> write_literal(Runtime& runtime, const Literal& value) {
  Literal stored = to_storage(value, runtime.device->caps());
  TUFF_ASSIGN(BufferPtr memory, runtime.allocate(stored.size_bytes()));
  if (stored.size_bytes() > 0)
    TUFF_RETURN_IF_ERROR(runtime.device->write(
        *memory, 0, {stored.bytes(), static_cast<size_t>(stored.size_bytes())}));
  return memory;
}

}  // namespace tuff::pjrt
