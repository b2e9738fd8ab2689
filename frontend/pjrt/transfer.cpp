// Copies between the host and buffers, and between buffers. Each is complete when
// its function returns.
#include <fmt/format.h>

#include <cstring>

#include "backend/storage_convert.h"
#include "frontend/pjrt/abi_client.h"
#include "frontend/pjrt/abi_execute.h"
#include "frontend/pjrt/handles.h"
#include "frontend/pjrt/table.h"
#include "shaders/storage.h"

namespace tuff::pjrt {

namespace {

std::unique_ptr<BufferHandle> new_buffer(ClientHandle* client, const TensorType& type) {
  auto handle = std::make_unique<BufferHandle>();
  handle->client = client;
  handle->runtime = client->runtime;
  handle->type = type;
  return handle;
}

Result<TensorType> type_of(const Client_BufferFromHostBuffer_Args& args) {
  TensorType type;
  TUFF_ASSIGN(type.dtype, dtype_of(args.type));
  type.shape.assign(args.dims, args.dims + args.num_dims);
  TUFF_ASSIGN([[maybe_unused]] int64_t count, checked_num_elements(type.shape));
  if (args.byte_strides && args.num_byte_strides != 0 && args.num_byte_strides != args.num_dims)
    return Error{ErrorCode::kUsage,
                 fmt::format("The array has ({}) dimensions and ({}) byte strides.", args.num_dims,
                             args.num_byte_strides),
                 ""};
  return type;
}

bool is_row_major(const TensorType& type, const int64_t* byte_strides) {
  std::vector<int64_t> dense = row_major_strides(type.shape);
  for (size_t i = 0; i < dense.size(); ++i)
    if (type.shape[i] > 1 && byte_strides[i] != dense[i] * dtype_size(type.dtype)) return false;
  return true;
}

// The array's elements in row-major order, whatever its strides (also negative or 0).
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

Literal host_literal(const Client_BufferFromHostBuffer_Args& args, const TensorType& type) {
  auto data = static_cast<const std::byte*>(args.data);
  bool strided = args.byte_strides && args.num_byte_strides == args.num_dims && args.num_dims > 0;
  if (type.num_elements() > 0 && strided && !is_row_major(type, args.byte_strides))
    return gather_strided(type, data, args.byte_strides);
  return Literal(type, data, nullptr);
}

Status buffer_from_host(Client_BufferFromHostBuffer_Args& args) {
  TUFF_ASSIGN(TensorType type, type_of(args));
  Runtime& runtime = *args.client->runtime;
  auto handle = new_buffer(args.client, type);
  auto event = std::make_unique<EventHandle>();
  Literal stored = to_storage(host_literal(args, type), runtime.device->caps());
  TUFF_ASSIGN(BufferPtr memory, runtime.allocate(stored.size_bytes()));
  if (stored.size_bytes() > 0)
    TUFF_RETURN_IF_ERROR(runtime.device->write(
        *memory, 0, {stored.bytes(), static_cast<size_t>(stored.size_bytes())}));
  handle->set(std::move(memory));
  args.done_with_host_buffer = event.release();
  args.buffer = handle.release();
  return {};
}

Error deleted_error() { return {ErrorCode::kUsage, "The buffer was deleted or donated.", ""}; }

Status check_row_major(const MemoryLayout* layout, const TensorType& type) {
  if (!layout) return {};
  if (layout->type == MemoryLayout::kTiled) {
    bool row_major = layout->num_tiles == 0;
    for (size_t i = 0; i < layout->minor_to_major_size; ++i)
      row_major &= layout->minor_to_major[i] == type.rank() - 1 - static_cast<int64_t>(i);
    if (row_major) return {};
  }
  return Error{ErrorCode::kUnsupported, "tuff copies to the host in row-major order only.", ""};
}

Status buffer_to_host(Buffer_ToHostBuffer_Args& args) {
  const TensorType& type = args.src->type;
  size_t size = static_cast<size_t>(type.size_bytes());
  if (!args.dst) {
    args.dst_size = size;
    return {};
  }
  TUFF_RETURN_IF_ERROR(check_row_major(args.host_layout, type));
  if (args.dst_size < size)
    return Error{ErrorCode::kUsage,
                 fmt::format("The destination of ({}) bytes is smaller than the tensor of ({}).",
                             args.dst_size, size),
                 ""};
  BufferPtr memory = args.src->memory();
  if (!memory) return deleted_error();
  auto event = std::make_unique<EventHandle>();
  Device& device = *args.src->runtime->device;
  DType dtype = storage_dtype(type.dtype, device.caps());
  if (size > 0 && dtype == type.dtype) {
    TUFF_RETURN_IF_ERROR(device.read(*memory, 0, {static_cast<std::byte*>(args.dst), size}));
  } else if (size > 0) {
    Literal stored(TensorType{dtype, type.shape});
    TUFF_RETURN_IF_ERROR(device.read(
        *memory, 0, {stored.mutable_bytes(), static_cast<size_t>(stored.size_bytes())}));
    std::memcpy(args.dst, from_storage(stored, type).bytes(), size);
  }
  args.event = event.release();
  return {};
}

// Through the host: there is one memory, so callers hardly ask.
Result<BufferHandle*> copy_of(const BufferHandle& source) {
  BufferPtr from = source.memory();
  if (!from) return deleted_error();
  auto handle = new_buffer(source.client, source.type);
  std::vector<std::byte> bytes(static_cast<size_t>(from->size_bytes()));
  TUFF_ASSIGN(BufferPtr to, source.runtime->allocate(from->size_bytes()));
  if (!bytes.empty()) {
    TUFF_RETURN_IF_ERROR(source.runtime->device->read(*from, 0, bytes));
    TUFF_RETURN_IF_ERROR(source.runtime->device->write(*to, 0, bytes));
  }
  handle->set(std::move(to));
  return handle.release();
}

Status buffer_copy_to_device(Buffer_CopyToDevice_Args& args) {
  TUFF_ASSIGN(args.dst_buffer, copy_of(*args.buffer));
  return {};
}

Status buffer_copy_to_memory(Buffer_CopyToMemory_Args& args) {
  TUFF_ASSIGN(args.dst_buffer, copy_of(*args.buffer));
  return {};
}

}  // namespace

void add_transfer_functions(Api& api) {
  TUFF_PJRT_SET(api, Client_BufferFromHostBuffer, buffer_from_host);
  TUFF_PJRT_SET(api, Buffer_ToHostBuffer, buffer_to_host);
  TUFF_PJRT_SET(api, Buffer_CopyToDevice, buffer_copy_to_device);
  TUFF_PJRT_SET(api, Buffer_CopyToMemory, buffer_copy_to_memory);
}

}  // namespace tuff::pjrt
