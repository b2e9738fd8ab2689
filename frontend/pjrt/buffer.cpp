// What is asked about buffers. Copies from and to the host are in transfer.cpp.
#include "backend/storage_convert.h"
#include "frontend/pjrt/abi/abi_execute.h"
#include "frontend/pjrt/abi/table.h"
#include "frontend/pjrt/handles.h"
#include "frontend/session/device.h"

namespace tuff::pjrt {

namespace {

Status buffer_destroy(Buffer_Destroy_Args& args) {
  delete args.buffer;
  return {};
}

Status buffer_element_type(Buffer_ElementType_Args& args) {
  args.type = element_type(args.buffer->type.dtype);
  return {};
}

Status buffer_dimensions(Buffer_Dimensions_Args& args) {
  args.dims = args.buffer->type.shape.data();
  args.num_dims = args.buffer->type.shape.size();
  return {};
}

Status buffer_unpadded_dimensions(Buffer_UnpaddedDimensions_Args& args) {
  args.unpadded_dims = args.buffer->type.shape.data();
  args.num_dims = args.buffer->type.shape.size();
  return {};
}

Status buffer_dynamic_dimensions(Buffer_DynamicDimensionIndices_Args& args) {
  args.dynamic_dim_indices = nullptr;
  args.num_dynamic_dims = 0;
  return {};
}

// Row-major. The orders of all ranks end the same list.
Status buffer_memory_layout(Buffer_GetMemoryLayout_Args& args) {
  static constexpr int64_t kMinorToMajor[] = {31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21,
                                              20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10,
                                              9,  8,  7,  6,  5,  4,  3,  2,  1,  0};
  size_t rank = args.buffer->type.shape.size();
  if (rank > std::size(kMinorToMajor))
    return Error{ErrorCode::kUnsupported, "The tensor has more than 32 dimensions.", ""};
  MemoryLayout& layout = args.layout;
  layout.type = MemoryLayout::kTiled;
  layout.minor_to_major = std::end(kMinorToMajor) - rank;
  layout.minor_to_major_size = rank;
  layout.tile_dims = nullptr;
  layout.tile_dim_sizes = nullptr;
  layout.num_tiles = 0;
  return {};
}

Status buffer_device_size(Buffer_OnDeviceSizeInBytes_Args& args) {
  const Caps& caps = args.buffer->runtime->device->caps();
  args.on_device_size_in_bytes =
      static_cast<size_t>(stored_type(args.buffer->type, caps).size_bytes());
  return {};
}

Status buffer_device(Buffer_Device_Args& args) {
  args.device = args.buffer->device;
  return {};
}

Status buffer_memory(Buffer_Memory_Args& args) {
  args.memory = &args.buffer->device->memory;
  return {};
}

Status buffer_delete(Buffer_Delete_Args& args) {
  args.buffer->release();
  return {};
}

Status buffer_is_deleted(Buffer_IsDeleted_Args& args) {
  args.is_deleted = !args.buffer->storage();
  return {};
}

// Callers read memory of the CPU device in place, at its address.
Status buffer_is_on_cpu(Buffer_IsOnCpu_Args& args) {
  args.is_on_cpu = is_host(args.buffer->runtime->device->caps());
  return {};
}

Status buffer_ready_event(Buffer_ReadyEvent_Args& args) {
  StoragePtr storage = args.buffer->storage();
  if (!storage) return deleted_error();
  storage->ready->want();
  args.event = new EventHandle{nullptr, storage->ready};
  return {};
}

// The memory once it is there.
Result<BufferPtr> memory_of(const BufferHandle& buffer) {
  StoragePtr storage = buffer.storage();
  if (!storage) return deleted_error();
  storage->ready->want();
  TUFF_RETURN_IF_ERROR(storage->ready->wait());
  return storage->memory;
}

// The address on the CPU device; elsewhere the memory's identity, which tells arrays
// apart but cannot be read.
Result<uintptr_t> address_of(const BufferHandle& buffer) {
  TUFF_ASSIGN(BufferPtr memory, memory_of(buffer));
  if (is_host(buffer.runtime->device->caps()))
    return reinterpret_cast<uintptr_t>(host_memory(*memory));
  return reinterpret_cast<uintptr_t>(memory.get());
}

Status buffer_unsafe_pointer(Buffer_UnsafePointer_Args& args) {
  TUFF_ASSIGN(args.buffer_pointer, address_of(*args.buffer));
  return {};
}

Status buffer_data_pointer(Buffer_OpaqueDeviceMemoryDataPointer_Args& args) {
  TUFF_ASSIGN(uintptr_t address, address_of(*args.buffer));
  args.device_memory_ptr = reinterpret_cast<void*>(address);
  return {};
}

Status buffer_reference(Buffer_IncreaseExternalReferenceCount_Args& args) {
  return args.buffer->add_external_reference();
}

Status buffer_unreference(Buffer_DecreaseExternalReferenceCount_Args& args) {
  args.buffer->drop_external_reference();
  return {};
}

}  // namespace

void add_buffer_functions(Api& api) {
  TUFF_PJRT_SET(api, Buffer_Destroy, buffer_destroy, InFork::kLeft);
  TUFF_PJRT_SET(api, Buffer_ElementType, buffer_element_type);
  TUFF_PJRT_SET(api, Buffer_Dimensions, buffer_dimensions);
  TUFF_PJRT_SET(api, Buffer_UnpaddedDimensions, buffer_unpadded_dimensions);
  TUFF_PJRT_SET(api, Buffer_DynamicDimensionIndices, buffer_dynamic_dimensions);
  TUFF_PJRT_SET(api, Buffer_GetMemoryLayout, buffer_memory_layout);
  TUFF_PJRT_SET(api, Buffer_OnDeviceSizeInBytes, buffer_device_size);
  TUFF_PJRT_SET(api, Buffer_Device, buffer_device);
  TUFF_PJRT_SET(api, Buffer_Memory, buffer_memory);
  TUFF_PJRT_SET(api, Buffer_Delete, buffer_delete, InFork::kLeft);
  TUFF_PJRT_SET(api, Buffer_IsDeleted, buffer_is_deleted);
  TUFF_PJRT_SET(api, Buffer_IsOnCpu, buffer_is_on_cpu);
  TUFF_PJRT_SET(api, Buffer_ReadyEvent, buffer_ready_event);
  TUFF_PJRT_SET(api, Buffer_UnsafePointer, buffer_unsafe_pointer);
  TUFF_PJRT_SET(api, Buffer_OpaqueDeviceMemoryDataPointer, buffer_data_pointer);
  TUFF_PJRT_SET(api, Buffer_IncreaseExternalReferenceCount, buffer_reference);
  TUFF_PJRT_SET(api, Buffer_DecreaseExternalReferenceCount, buffer_unreference, InFork::kLeft);
}

}  // namespace tuff::pjrt
