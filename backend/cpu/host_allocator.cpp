#include "backend/cpu/host_allocator.h"

#include "backend/cpu/kernels/execute_kernel.h"

namespace tuff::cpu {

namespace {

constexpr size_t kTensorAlignment = 64;

}  // namespace

void FreeTensor::operator()(std::byte* data) const {
  if (allocator == nullptr)
    FreeAligned()(data);
  else
    allocator->free(data, size_bytes);
}

TensorBytes allocate_tensor(int64_t size_bytes, const HostAllocatorPtr& allocator) {
  if (allocator == nullptr) return TensorBytes(allocate_aligned(size_bytes).release());
  auto size = static_cast<size_t>(round_up(std::max<int64_t>(size_bytes, 1), kTensorAlignment));
  return TensorBytes(static_cast<std::byte*>(allocator->allocate(size, kTensorAlignment)),
                     {allocator, size});
}

}  // namespace tuff::cpu
