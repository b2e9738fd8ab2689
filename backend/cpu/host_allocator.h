// Where the CPU device's tensors lie: buffers, constants and the temporaries of programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace tuff {

// The caller's; called from any thread, must not throw.
struct HostAllocator {
  // Null where there is no memory. `alignment` is a power of 2.
  std::function<void*(size_t size_bytes, size_t alignment)> allocate;
  std::function<void(void* memory, size_t size_bytes)> free;
};
using HostAllocatorPtr = std::shared_ptr<const HostAllocator>;  // null: the process's memory

namespace cpu {

struct FreeTensor {
  HostAllocatorPtr allocator;
  size_t size_bytes = 0;  // of the caller's; else those of FreeAligned
  void operator()(std::byte* data) const;
};
using TensorBytes = std::unique_ptr<std::byte[], FreeTensor>;
// As allocate_aligned does it.
TensorBytes allocate_tensor(int64_t size_bytes, const HostAllocatorPtr& allocator);

}  // namespace cpu

}  // namespace tuff
