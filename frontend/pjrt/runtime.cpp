#include "frontend/pjrt/runtime.h"

#include "backend/storage_convert.h"

namespace tuff::pjrt {

namespace {

void raise(std::atomic<int64_t>& highest, int64_t value) {
  int64_t seen = highest;
  while (value > seen && !highest.compare_exchange_weak(seen, value)) {
  }
}

}  // namespace

Queue& Runtime::exchange_queue() {
  std::call_once(exchanges_asked, [&] { exchanges = std::make_unique<Queue>(); });
  return *exchanges;
}

Result<BufferPtr> Runtime::allocate(int64_t size_bytes) {
  TUFF_ASSIGN(BufferPtr buffer, device->allocate(size_bytes));
  raise(count->peak, count->in_use += size_bytes);
  raise(count->largest, size_bytes);
  ++count->allocations;
  Buffer* raw = buffer.get();
  return BufferPtr(raw, [buffer = std::move(buffer), device = device, count = count,
                         size_bytes](Buffer*) mutable {
    buffer.reset();
    count->in_use -= size_bytes;
  });
}

Result<BufferPtr> Runtime::write(const Literal& value) {
  TUFF_ASSIGN(BufferPtr memory, allocate(stored_type(value.type(), device->caps()).size_bytes()));
  TUFF_RETURN_IF_ERROR(write_tensor(*device, *memory, value));
  return memory;
}

}  // namespace tuff::pjrt
