// Device memory: large buffers own an allocation, small ones share blocks, since
// drivers allow few allocations (often 4096) and round each up.
#pragma once

#include <list>
#include <map>
#include <mutex>

#include "backend/device.h"
#include "backend/vulkan/context.h"

namespace tuff {

// A range of one VkDeviceMemory that many buffers share, or one buffer owns.
struct MemoryBlock {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  uint64_t size_bytes = 0;
  uint32_t type = 0;
  bool shared = false;
  std::byte* mapped = nullptr;               // null iff the host cannot reach it
  std::map<uint64_t, uint64_t> free_ranges;  // offset -> size; neighbours are merged
};

struct Allocation {
  std::list<MemoryBlock>::iterator block;
  uint64_t offset_bytes = 0, size_bytes = 0;
  std::byte* mapped() const {
    return block->mapped != nullptr ? block->mapped + offset_bytes : nullptr;
  }
};

enum class MemoryUse { kDevice, kStaging };

// Thread-safe. Outlives every allocation made from it.
class MemoryPool {
 public:
  explicit MemoryPool(Context& context) : context_(context) {}
  ~MemoryPool();

  // Errors: kOutOfMemory with what is needed, in use and allowed.
  Result<Allocation> allocate(const VkMemoryRequirements& requirements, MemoryUse use);
  void free(const Allocation& allocation);

  int64_t allocated_bytes();
  int64_t num_blocks();

 private:
  Result<std::list<MemoryBlock>::iterator> add_block(uint64_t size_bytes, uint32_t type,
                                                     bool shared, uint64_t needed_bytes);
  void release(std::list<MemoryBlock>::iterator block);
  uint64_t block_bytes() const;
  Error out_of_memory(uint64_t needed_bytes, const std::string& reason) const;

  Context& context_;
  std::mutex mutex_;
  std::list<MemoryBlock> blocks_;
  uint64_t allocated_bytes_ = 0;
};

// A VkBuffer with its memory. Usable as storage, as source and target of
// copies, and by address where the device can.
class VulkanBuffer final : public Buffer {
 public:
  static Result<std::shared_ptr<VulkanBuffer>> create(Context& context, MemoryPool& pool,
                                                      int64_t size_bytes, MemoryUse use);
  ~VulkanBuffer() override;

  int64_t size_bytes() const override { return size_bytes_; }
  VkBuffer handle() const { return handle_; }    // null iff the size is zero
  uint64_t address() const { return address_; }  // 0 without buffer_device_address
  std::byte* mapped() const { return mapped_; }  // null iff the host cannot reach it
  uint64_t id() const { return id_; }            // never used again in this process
  const Context* context() const { return &context_; }

 private:
  VulkanBuffer(Context& context, MemoryPool& pool, int64_t size_bytes);
  Status create_handle(MemoryUse use);

  Context& context_;
  MemoryPool& pool_;
  int64_t size_bytes_;
  uint64_t id_;
  VkBuffer handle_ = VK_NULL_HANDLE;
  std::optional<Allocation> allocation_;
  uint64_t address_ = 0;
  std::byte* mapped_ = nullptr;
};

}  // namespace tuff
