#include "frontend/session/tensor_io.h"

#include <cstring>

#include "backend/cpu/device.h"
#include "backend/storage_convert.h"

namespace tuff {

Status read_tensor(Device& device, const Buffer& memory, const TensorType& type, std::byte* to) {
  auto size = static_cast<size_t>(type.size_bytes());
  if (size == 0) return {};
  TensorType in_memory = stored_type(type, device.caps());
  if (in_memory == as_parts(type)) return device.read(memory, 0, {to, size});
  Literal stored(in_memory);
  TUFF_RETURN_IF_ERROR(
      device.read(memory, 0, {stored.mutable_bytes(), static_cast<size_t>(stored.size_bytes())}));
  std::memcpy(to, from_storage(stored, type).bytes(), size);
  return {};
}

Result<Literal> read_literal(Device& device, const BufferPtr& memory, const TensorType& type) {
  bool in_place = is_host(device.caps()) && type.num_elements() > 0 &&
                  stored_type(type, device.caps()) == as_parts(type);
  if (in_place) return Literal(type, host_memory(*memory), memory);
  Literal value(type);
  TUFF_RETURN_IF_ERROR(read_tensor(device, *memory, type, value.mutable_bytes()));
  return value;
}

Status write_tensor(Device& device, Buffer& memory, const Literal& value) {
  Literal stored = to_storage(value, device.caps());
  if (stored.size_bytes() == 0) return {};
  return device.write(memory, 0, {stored.bytes(), static_cast<size_t>(stored.size_bytes())});
}

}  // namespace tuff
