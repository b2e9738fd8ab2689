// Buffers, and copies between them and the host.
#include "frontend/c/buffer.h"

#include <algorithm>
#include <vector>

#include "backend/storage_convert.h"
#include "frontend/c/call.h"
#include "frontend/c/types.h"
#include "frontend/session/tensor_io.h"

namespace tuff::c {

Result<StoragePtr> BufferState::storage() const {
  std::lock_guard lock(mutex_);
  if (storage_) return storage_;
  return invalid("The buffer was donated to a run and holds nothing any more.");
}

Result<BufferPtr> BufferState::ready_memory() const {
  TUFF_ASSIGN(StoragePtr storage, this->storage());
  TUFF_RETURN_IF_ERROR(storage->ready->wait());
  return storage->memory;
}

void BufferState::read_by(CompletionPtr run) {
  std::lock_guard lock(mutex_);
  reader_.swap(run);
}

void BufferState::wait_for_readers() const {
  if (device->queue.inside()) return;  // a run's callback, for which later runs wait
  CompletionPtr reader;
  {
    std::lock_guard lock(mutex_);
    reader = reader_;
  }
  (void)reader->wait();  // how it ends is told elsewhere
}

void BufferState::replace(StoragePtr storage) {
  std::lock_guard lock(mutex_);
  storage_.swap(storage);  // what it was is freed after the lock
}

Result<std::shared_ptr<BufferState>> create_buffer(const std::shared_ptr<DeviceState>& state,
                                                   const Literal& value) {
  Device& device = state->device();
  TUFF_ASSIGN(BufferPtr memory,
              device.allocate(stored_type(value.type(), device.caps()).size_bytes()));
  TUFF_RETURN_IF_ERROR(write_tensor(device, *memory, value));
  return std::make_shared<BufferState>(state, value.type(), stored(std::move(memory), false));
}

namespace {

// Of zeros, written in pieces: there is no second tensor that they come from.
Result<std::shared_ptr<BufferState>> create_zeros(const std::shared_ptr<DeviceState>& state,
                                                  const TensorType& type) {
  constexpr int64_t kPiece = int64_t{16} << 20;
  Device& device = state->device();
  TensorType kept = stored_type(type, device.caps());
  if (kept != as_parts(type)) return create_buffer(state, Literal(type));
  int64_t size = kept.size_bytes();
  TUFF_ASSIGN(BufferPtr memory, device.allocate(size));
  std::vector<std::byte> zeros(static_cast<size_t>(std::min(size, kPiece)));
  for (int64_t at = 0; at < size; at += kPiece)
    TUFF_RETURN_IF_ERROR(device.write(
        *memory, at, {zeros.data(), static_cast<size_t>(std::min(size - at, kPiece))}));
  return std::make_shared<BufferState>(state, type, stored(std::move(memory), false));
}

}  // namespace

Result<std::shared_ptr<BufferState>> import_buffer(const std::shared_ptr<DeviceState>& state,
                                                   const Literal& value,
                                                   std::shared_ptr<const void> owner) {
  // Vector loads of the CPU's kernels want no more.
  constexpr uintptr_t kHostAlignment = 16;
  Device& device = state->device();
  bool as_is = stored_type(value.type(), device.caps()) == as_parts(value.type()) &&
               value.size_bytes() > 0 &&
               reinterpret_cast<uintptr_t>(value.bytes()) % kHostAlignment == 0;
  BufferPtr memory;
  if (as_is) {
    TUFF_ASSIGN(memory,
                device.wrap({value.bytes(), static_cast<size_t>(value.size_bytes())}, owner));
  }
  if (!memory) return create_buffer(state, value);
  return std::make_shared<BufferState>(state, value.type(), stored(std::move(memory), true));
}

namespace {

Result<std::shared_ptr<BufferState>> import_host(tuff_device* device, const tuff_tensor_type* type,
                                                 const void* data, Release given) {
  TUFF_ASSIGN(TensorType known, type_of(type));
  if (known.num_elements() > 0) TUFF_RETURN_IF_ERROR(need(data, "data"));
  auto release = std::make_shared<Release>(given);
  Literal value(known, static_cast<const std::byte*>(data), nullptr);
  TUFF_ASSIGN(auto buffer, import_buffer(device->state, value, release));
  release->armed = true;
  return buffer;
}

Status check_size(const BufferState& buffer, size_t size) {
  auto wanted = static_cast<size_t>(buffer.type.size_bytes());
  if (size == wanted) return {};
  return invalid(fmt::format("A buffer of type ({}) takes ({}) bytes, not ({}).",
                             buffer.type.to_string(), wanted, size));
}

Status write(BufferState& buffer, const void* data, size_t size) {
  TUFF_RETURN_IF_ERROR(check_size(buffer, size));
  if (buffer.bindings > 0)
    return invalid(
        "The buffer is bound to a program, which may keep copies of it; take the "
        "binding away, or bind another buffer.");
  TUFF_ASSIGN(StoragePtr storage, buffer.storage());
  if (storage->borrowed)
    return invalid("The buffer is memory of the caller's, which is not written.");
  TUFF_RETURN_IF_ERROR(storage->ready->wait());
  if (size == 0) return {};
  TUFF_RETURN_IF_ERROR(need(data, "data"));
  buffer.wait_for_readers();
  return write_tensor(buffer.device->device(), *storage->memory,
                      Literal(buffer.type, static_cast<const std::byte*>(data), nullptr));
}

}  // namespace

}  // namespace tuff::c

using namespace tuff;     // NOLINT: the functions of tuff.h have no namespace
using namespace tuff::c;  // NOLINT

tuff_status tuff_buffer_create(tuff_device* device, const tuff_tensor_type* type, const void* data,
                               tuff_buffer** buffer) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(device, "device"));
    TUFF_RETURN_IF_ERROR(need(buffer, "buffer"));
    TUFF_ASSIGN(TensorType known, type_of(type));
    TUFF_ASSIGN(auto state,
                data ? create_buffer(device->state,
                                     Literal(known, static_cast<const std::byte*>(data), nullptr))
                     : create_zeros(device->state, known));
    *buffer = new tuff_buffer{std::move(state)};
    return {};
  });
}

tuff_status tuff_buffer_import_host(tuff_device* device, const tuff_tensor_type* type,
                                    const void* data, void (*release)(void* user), void* user,
                                    tuff_buffer** buffer) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(device, "device"));
    TUFF_RETURN_IF_ERROR(need(buffer, "buffer"));
    auto handle = std::make_unique<tuff_buffer>();
    TUFF_ASSIGN(handle->state, import_host(device, type, data, {release, user, false}));
    *buffer = handle.release();
    return {};
  });
}

void tuff_buffer_destroy(tuff_buffer* buffer) { delete buffer; }

tuff_status tuff_buffer_type(const tuff_buffer* buffer, tuff_tensor_type* type) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(buffer, "buffer"));
    return write_struct(type, view_of(buffer->state->type), "type");
  });
}

size_t tuff_buffer_size(const tuff_buffer* buffer) {
  return buffer ? static_cast<size_t>(buffer->state->type.size_bytes()) : 0;
}

tuff_status tuff_buffer_write(tuff_buffer* buffer, const void* data, size_t size) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(buffer, "buffer"));
    return c::write(*buffer->state, data, size);
  });
}

tuff_status tuff_buffer_read(const tuff_buffer* buffer, void* data, size_t size) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(buffer, "buffer"));
    const BufferState& state = *buffer->state;
    TUFF_RETURN_IF_ERROR(check_size(state, size));
    TUFF_ASSIGN(BufferPtr memory, state.ready_memory());
    if (size == 0) return {};
    TUFF_RETURN_IF_ERROR(need(data, "data"));
    return read_tensor(state.device->device(), *memory, state.type, static_cast<std::byte*>(data));
  });
}

tuff_status tuff_buffer_host_data(const tuff_buffer* buffer, const void** data) {
  return call([&]() -> Status {
    TUFF_RETURN_IF_ERROR(need(buffer, "buffer"));
    TUFF_RETURN_IF_ERROR(need(data, "data"));
    const BufferState& state = *buffer->state;
    TUFF_ASSIGN(BufferPtr memory, state.ready_memory());
    const Caps& caps = state.device->device().caps();
    *data = nullptr;
    if (!is_host(caps) || stored_type(state.type, caps) != as_parts(state.type)) return {};
    TUFF_ASSIGN(Literal value, read_literal(state.device->device(), memory, state.type));
    *data = value.bytes();
    return {};
  });
}
