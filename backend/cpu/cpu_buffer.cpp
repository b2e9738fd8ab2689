#include "backend/cpu/cpu_buffer.h"

namespace tuff::cpu {

namespace {

uint64_t next_version() {
  static std::atomic<uint64_t> counter{0};
  return ++counter;
}

}  // namespace

CpuBuffer::CpuBuffer(TensorBytes memory, int64_t size_bytes)
    : memory_(std::move(memory)),
      data_(memory_.get()),
      size_bytes_(size_bytes),
      version_(next_version()) {}

CpuBuffer::CpuBuffer(const std::byte* data, int64_t size_bytes, std::shared_ptr<const void> owner)
    : owner_(std::move(owner)), data_(data), size_bytes_(size_bytes), version_(next_version()) {}

void CpuBuffer::mark_written() { version_ = next_version(); }

}  // namespace tuff::cpu
