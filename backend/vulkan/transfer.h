// Copies between the host and device memory: by memcpy where the host reaches
// the buffer, else in pieces through one staging buffer.
#pragma once

#include <mutex>
#include <span>

#include "backend/vulkan/memory.h"

namespace tuff {

// Thread-safe: one copy at a time.
class Transfer {
 public:
  Transfer(Context& context, MemoryPool& pool, bool force_staging)
      : context_(context), pool_(pool), force_staging_(force_staging) {}
  ~Transfer();

  // The range must lie inside the buffer (checked: kRunFailed).
  Status write(const VulkanBuffer& buffer, int64_t offset_bytes, std::span<const std::byte> data);
  Status read(const VulkanBuffer& buffer, int64_t offset_bytes, std::span<std::byte> data);

 private:
  Status create_staging();
  Status copy(VkBuffer source, int64_t source_offset, VkBuffer target, int64_t target_offset,
              size_t size_bytes);
  bool direct(const VulkanBuffer& buffer) const {
    return buffer.mapped() != nullptr && !force_staging_;
  }

  Context& context_;
  MemoryPool& pool_;
  bool force_staging_;
  std::mutex mutex_;
  std::shared_ptr<VulkanBuffer> staging_;  // null until first needed
  VkCommandPool command_pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

// Makes all earlier writes of kernels, copies and the host visible to what follows.
void record_full_barrier(const DeviceTable& vk, VkCommandBuffer commands);

}  // namespace tuff
