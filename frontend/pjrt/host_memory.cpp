#include "frontend/pjrt/host_memory.h"

#include <cstdlib>
#include <new>

namespace tuff::pjrt {

namespace {

// Smaller literals are made anew.
constexpr size_t kLeast = size_t{4} << 10;
constexpr size_t kAlignment = 64;  // of what devices take for a buffer as it is

}  // namespace

HostMemory::~HostMemory() {
  for (auto [size, block] : stock_) std::free(block);
}

Literal HostMemory::make(const TensorType& type) {
  auto size = static_cast<size_t>(type.size_bytes());
  if (size < kLeast) return Literal(type);
  size = (size + kAlignment - 1) / kAlignment * kAlignment;
  std::byte* block = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (auto known = stock_.find(size); known != stock_.end()) {
      block = known->second;
      stock_.erase(known);
    }
  }
  if (!block) block = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
  if (!block) throw std::bad_alloc();
  std::shared_ptr<std::byte> shared(block, [size, stock = weak_from_this()](std::byte* memory) {
    if (auto known = stock.lock())
      known->take_back(size, memory);
    else
      std::free(memory);
  });
  return Literal::on(type, std::move(shared));
}

void HostMemory::take_back(size_t size, std::byte* block) {
  try {
    std::lock_guard lock(mutex_);
    stock_.emplace(size, block);
  } catch (const std::bad_alloc&) {
    std::free(block);
  }
}

}  // namespace tuff::pjrt
