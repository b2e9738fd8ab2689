// Device memory: large buffers own an allocation, small ones share blocks, since
// drivers allow few allocations (often 4096) and round each up.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "backend/device.h"
#include "backend/vulkan/context.h"

namespace tuff {

// A range of one VkDeviceMemory that many buffers share, or one buffer owns.
struct MemoryBlock {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  uint64_t size_bytes = 0;
  uint32_t type = 0;
  bool shared = false;
  std::byte* mapped = nullptr;                  // null iff the host cannot reach it
  using Ranges = std::map<uint64_t, uint64_t>;  // offset -> size
  Ranges free_ranges;                           // neighbours are merged
  std::vector<Ranges::node_type>
      spare_nodes;  // one for each allocation: giving back takes no memory
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
  // What is left of a heap now; nothing where that is not known.
  using AskBudget = std::function<std::optional<uint64_t>(uint32_t heap)>;

  explicit MemoryPool(Context& context)
      : context_(context), ask_budget_([&](uint32_t heap) { return context.free_bytes(heap); }) {}
  ~MemoryPool();

  // Errors: kOutOfMemory with what is needed, in use and allowed.
  Result<Allocation> allocate(const VkMemoryRequirements& requirements, MemoryUse use);
  void free(const Allocation& allocation);

  // Errors: kOutOfMemory where the driver says that less is left; `what` ("the temporaries") is
  // named then.
  Status check_budget(int64_t needed_bytes, const std::string& what) const;
  // For tests.
  void ask(AskBudget budget) { ask_budget_ = std::move(budget); }

  int64_t allocated_bytes();
  int64_t num_blocks();

 private:
  Result<std::list<MemoryBlock>::iterator> add_block(uint64_t size_bytes, uint32_t type,
                                                     MemoryUse use, bool shared,
                                                     uint64_t needed_bytes);
  void release(std::list<MemoryBlock>::iterator block);
  uint64_t block_bytes() const;
  std::optional<uint64_t> left_of_heap_of(uint32_t type) const;
  Error out_of_memory(uint64_t needed_bytes, const std::string& reason) const;

  Context& context_;
  AskBudget ask_budget_;
  std::mutex mutex_;
  std::list<MemoryBlock> blocks_;
  uint64_t allocated_bytes_ = 0;
};

// A VkBuffer with its memory. Usable as storage, as source and target of
// copies, and by address where the device can.
class VulkanBuffer final : public Buffer, public std::enable_shared_from_this<VulkanBuffer> {
 public:
  static Result<std::shared_ptr<VulkanBuffer>> create(Context& context, MemoryPool& pool,
                                                      int64_t size_bytes, MemoryUse use);
  // A part of a VkBuffer of the application's own, kept by `owner`, which the host does not reach.
  static std::shared_ptr<VulkanBuffer> wrap(Context& context, MemoryPool& pool, VkBuffer handle,
                                            int64_t offset_bytes, int64_t size_bytes,
                                            std::shared_ptr<const void> owner);
  ~VulkanBuffer() override;

  int64_t size_bytes() const override { return size_bytes_; }
  VkBuffer handle() const { return handle_; }             // null iff the size is zero
  int64_t offset_bytes() const { return offset_bytes_; }  // where it begins in the handle
  uint64_t address() const;                      // of the handle; 0 without buffer_device_address
  std::byte* mapped() const { return mapped_; }  // null iff the host cannot reach it
  uint64_t id() const { return id_; }            // never used again in this process
  const Context* context() const { return &context_; }

  // A copy of the whole, from `offset_bytes` of a buffer that the host reads fast. Who writes this
  // buffer drops it first.
  struct Mirror {
    std::shared_ptr<const VulkanBuffer> buffer;
    int64_t offset_bytes = 0;
  };
  void set_mirror(Mirror mirror) const;
  void drop_mirror() const { set_mirror({}); }
  Mirror mirror() const;

 private:
  VulkanBuffer(Context& context, MemoryPool& pool, int64_t size_bytes);
  Status create_handle(MemoryUse use);

  Context& context_;
  MemoryPool& pool_;
  int64_t size_bytes_;
  uint64_t id_;
  VkBuffer handle_ = VK_NULL_HANDLE;
  int64_t offset_bytes_ = 0;
  std::optional<Allocation> allocation_;  // nothing of a wrapped buffer
  std::shared_ptr<const void> owner_;     // of a wrapped one
  std::byte* mapped_ = nullptr;
  mutable std::mutex mirror_mutex_;
  mutable Mirror mirror_;
};

}  // namespace tuff
