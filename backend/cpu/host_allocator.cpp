#include "backend/cpu/host_allocator.h"

#include "backend/cpu/aligned_memory.h"

namespace tuff::cpu {

namespace {

constexpr size_t kTensorAlignment = 64;

}  // namespace

void FreeTensor::operator()(std::byte* data) const {
  if (allocator == nullptr)
    FreeAligned{size_bytes}(data);
  else
    allocator->free(data, size_bytes);
}

TensorBytes allocate_tensor(int64_t size_bytes, const HostAllocatorPtr& allocator) {
  if (allocator == nullptr) {
    AlignedBytes memory = allocate_aligned(size_bytes);
    size_t mapped_bytes = memory.get_deleter().mapped_bytes;
    return TensorBytes(memory.release(), {nullptr, mapped_bytes});
  }
  auto size = static_cast<size_t>(round_up(std::max<int64_t>(size_bytes, 1), kTensorAlignment));
  return TensorBytes(static_cast<std::byte*>(allocator->allocate(size, kTensorAlignment)),
                     {allocator, size});
}

}  // namespace tuff::cpu
