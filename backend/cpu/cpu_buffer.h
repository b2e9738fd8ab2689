// Buffers of the CPU device: plain host memory.
#pragma once

#include <atomic>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/host_allocator.h"
#include "backend/device.h"

namespace tuff::cpu {

class CpuBuffer : public Buffer {
 public:
  // Takes the memory; `size_bytes` of it.
  CpuBuffer(TensorBytes memory, int64_t size_bytes);
  // A read-only view on memory that `owner` keeps alive.
  CpuBuffer(const std::byte* data, int64_t size_bytes, std::shared_ptr<const void> owner);

  int64_t size_bytes() const override { return size_bytes_; }
  const std::byte* data() const { return data_; }
  // Null iff the buffer is read-only (or empty).
  std::byte* writable() const { return memory_.get(); }

  // Names the contents: no two buffers, and no two states of one buffer, have the
  // same number. What is derived from the contents (packed weights) is kept by it.
  uint64_t version() const { return version_; }
  void mark_written();

 private:
  TensorBytes memory_;
  std::shared_ptr<const void> owner_;
  const std::byte* data_ = nullptr;
  int64_t size_bytes_ = 0;
  std::atomic<uint64_t> version_;
};

}  // namespace tuff::cpu
