// Copies between the host and buffers, and between buffers.
#include <fmt/format.h>

#include <cstring>

#include "frontend/pjrt/abi/abi_client.h"
#include "frontend/pjrt/abi/abi_execute.h"
#include "frontend/pjrt/abi/table.h"
#include "frontend/pjrt/handles.h"
#include "frontend/session/device.h"
#include "frontend/session/strided.h"

namespace tuff::pjrt {

namespace {

// Vector loads of the CPU's kernels want no more.
constexpr uintptr_t kHostAlignment = 16;

// What callers allow us to do with the memory they hand over.
enum class HostSemantics : uint32_t {
  kOnlyDuringCall = 0,  // it may change once the call returns
  kUntilTransferred = 1,
  kImmutableZeroCopy = 2,  // it stays as it is until the event
  kMutableZeroCopy = 3,
};

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

Literal host_literal(const Client_BufferFromHostBuffer_Args& args, const TensorType& type) {
  auto data = static_cast<const std::byte*>(args.data);
  bool strided = args.byte_strides && args.num_byte_strides == args.num_dims && args.num_dims > 0;
  if (type.num_elements() > 0 && strided && !is_row_major(type, args.byte_strides))
    return gather_strided(type, data, args.byte_strides);
  return Literal(type, data, nullptr);
}

// The caller's memory itself, which it leaves to us until `released` completes. Null
// where it must be copied: the device is no CPU, the memory is strided or unaligned, or
// the caller may write to it. JAX says kImmutableZeroCopy of every array, also of those
// that its user writes to after a call. So that alone is no permission.
Result<BufferPtr> wrapped(const Client_BufferFromHostBuffer_Args& args, const TensorType& type,
                          const Device& device, const CompletionPtr& released) {
  auto semantics = static_cast<HostSemantics>(args.host_buffer_semantics);
  bool allowed = semantics == HostSemantics::kMutableZeroCopy ||
                 (semantics == HostSemantics::kImmutableZeroCopy && args.client->zero_copy);
  bool strided = args.byte_strides && args.num_byte_strides == args.num_dims &&
                 !is_row_major(type, args.byte_strides);
  bool aligned = reinterpret_cast<uintptr_t>(args.data) % kHostAlignment == 0;
  if (!allowed || strided || !aligned || !is_host(device.caps()) || type.num_elements() == 0)
    return BufferPtr();
  std::shared_ptr<const void> owner(args.data, [released](const void*) { released->complete({}); });
  return wrap_host_memory(static_cast<const std::byte*>(args.data), type.size_bytes(),
                          std::move(owner));
}

Result<BufferPtr> copied(const Client_BufferFromHostBuffer_Args& args, const TensorType& type,
                         Runtime& runtime) {
  return runtime.write(host_literal(args, type));
}

DeviceHandle* target_of(const Client_BufferFromHostBuffer_Args& args) {
  if (args.memory) return args.memory->device;
  return args.device ? args.device : args.client->own_devices[0];
}

// Nobody reaches another process's memory.
Status check_own(const DeviceHandle& device) {
  if (device.runtime) return {};
  return Error{
      ErrorCode::kUsage,
      fmt::format("The device ({}) belongs to process ({}), which alone puts arrays there.",
                  device.description.text, device.description.process),
      ""};
}

// Done when the function returns: the memory is new, so no queued work waits for it.
Status buffer_from_host(Client_BufferFromHostBuffer_Args& args) {
  TUFF_ASSIGN(TensorType type, type_of(args));
  DeviceHandle* target = target_of(args);
  TUFF_RETURN_IF_ERROR(check_own(*target));
  auto released = std::make_unique<EventHandle>();
  auto in_use = std::make_shared<Completion>();
  TUFF_ASSIGN(BufferPtr memory, wrapped(args, type, *target->runtime->device, in_use));
  bool borrowed = memory != nullptr;
  if (borrowed) {
    released->completion = std::move(in_use);
  } else {
    TUFF_ASSIGN(memory, copied(args, type, *target->runtime));
  }
  args.buffer = new BufferHandle(target, std::move(type), stored(std::move(memory), borrowed));
  args.done_with_host_buffer = released.release();
  return {};
}

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

// Does `work` after what the device was given before, and completes `done` with what
// it returns. For a callback, which the queue waits for, it does so now.
template <typename Work>
void queue_task(Runtime& runtime, CompletionPtr done, Work work) {
  if (runtime.queue.inside()) return done->complete(guarded_status(work));
  runtime.queue.submit([done = std::move(done), work = std::move(work)]() mutable {
    Status status = guarded_status(work);
    { Work finished = std::move(work); }  // what it holds goes before anybody hears of the end
    done->complete(std::move(status));
  });
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
  StoragePtr source = args.src->storage();
  if (!source) return deleted_error();
  source->ready->want();
  auto event = std::make_unique<EventHandle>();
  auto read = [source, type, device = args.src->runtime->device, to = args.dst]() -> Status {
    TUFF_RETURN_IF_ERROR(source->ready->wait());
    return read_tensor(*device, *source->memory, type, static_cast<std::byte*>(to));
  };
  if (source->ready->ready()) {
    TUFF_RETURN_IF_ERROR(read());
  } else if (args.src->runtime->queue.inside()) {
    return waits_for_itself();
  } else {
    event->completion = std::make_shared<Completion>();
    queue_task(*args.src->runtime, event->completion, std::move(read));
  }
  args.event = event.release();
  return {};
}

// Between devices through the host. On one device the memory is shared: it never
// changes while two have it.
Status copy_between(const Storage& from, Runtime& from_runtime, Storage& to, Runtime& to_runtime) {
  TUFF_RETURN_IF_ERROR(from.ready->wait());
  if (&from_runtime == &to_runtime) {
    to.memory = from.memory;
    to.borrowed = from.borrowed;
    return {};
  }
  std::vector<std::byte> bytes(static_cast<size_t>(from.memory->size_bytes()));
  TUFF_ASSIGN(BufferPtr memory, to_runtime.allocate(from.memory->size_bytes()));
  if (!bytes.empty()) {
    TUFF_RETURN_IF_ERROR(from_runtime.device->read(*from.memory, 0, bytes));
    TUFF_RETURN_IF_ERROR(to_runtime.device->write(*memory, 0, bytes));
  }
  to.memory = std::move(memory);
  return {};
}

Result<BufferHandle*> copy_to(const BufferHandle& source, DeviceHandle* target) {
  TUFF_RETURN_IF_ERROR(check_own(*target));
  StoragePtr from = source.storage();
  if (!from) return deleted_error();
  auto to = std::make_shared<Storage>();
  to->ready = std::make_shared<Completion>();
  auto handle = std::make_unique<BufferHandle>(target, source.type, to);
  queue_task(*target->runtime, to->ready,
             [from, to, from_runtime = source.runtime, to_runtime = target->runtime.get()] {
               return copy_between(*from, *from_runtime, *to, *to_runtime);
             });
  return handle.release();
}

Status buffer_copy_to_device(Buffer_CopyToDevice_Args& args) {
  TUFF_ASSIGN(args.dst_buffer, copy_to(*args.buffer, args.dst_device));
  return {};
}

Status buffer_copy_to_memory(Buffer_CopyToMemory_Args& args) {
  TUFF_ASSIGN(args.dst_buffer, copy_to(*args.buffer, args.dst_memory->device));
  return {};
}

}  // namespace

void add_transfer_functions(Api& api) {
  TUFF_PJRT_SET(api, Client_BufferFromHostBuffer, buffer_from_host, InFork::kRefused);
  TUFF_PJRT_SET(api, Buffer_ToHostBuffer, buffer_to_host, InFork::kRefused);
  TUFF_PJRT_SET(api, Buffer_CopyToDevice, buffer_copy_to_device, InFork::kRefused);
  TUFF_PJRT_SET(api, Buffer_CopyToMemory, buffer_copy_to_memory, InFork::kRefused);
}

}  // namespace tuff::pjrt
