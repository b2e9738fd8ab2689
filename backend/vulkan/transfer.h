// Copies between the host and device memory: by memcpy where the host reaches
// the buffer, else in pieces through staging buffers that take turns.
#pragma once

#include <array>
#include <memory>
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

  // The range must lie inside the buffer (checked: kRunFailed). A write may still be under way on
  // the device when this returns: what is submitted later sees it.
  Status write(const VulkanBuffer& buffer, int64_t offset_bytes, std::span<const std::byte> data);
  Status read(const VulkanBuffer& buffer, int64_t offset_bytes, std::span<std::byte> data);

  // True iff such a read is a memcpy.
  bool reads_directly(const VulkanBuffer& buffer, int64_t size_bytes) const;

 private:
  // A staging buffer, and the copy that uses it.
  struct Piece {
    std::shared_ptr<VulkanBuffer> staging;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
    bool under_way = false;
    std::shared_ptr<const VulkanBuffer> user;  // lives as long as the copy runs
  };

  // The piece that was used longest ago, its copy done.
  Result<Piece*> next_piece();
  Status finish(Piece& piece);
  Status create(Piece& piece);
  Status start_copy(Piece& piece, const VulkanBuffer& user, VkBuffer source, int64_t source_offset,
                    VkBuffer target, int64_t target_offset, size_t size_bytes);
  Status write_staged(const VulkanBuffer& buffer, int64_t offset_bytes,
                      std::span<const std::byte> data);
  Status read_staged(const VulkanBuffer& buffer, int64_t offset_bytes, std::span<std::byte> data);

  Context& context_;
  MemoryPool& pool_;
  bool force_staging_;
  std::mutex mutex_;
  VkCommandPool command_pool_ = VK_NULL_HANDLE;
  std::array<Piece, 3> pieces_;  // made when they are first needed
  size_t next_ = 0;
};

// Between what was submitted earlier and what follows: writes of kernels and copies are there for
// both.
void record_first_barrier(const DeviceTable& vk, VkCommandBuffer commands);
// What kernels and copies wrote is there for the host once the commands are through.
void record_host_barrier(const DeviceTable& vk, VkCommandBuffer commands);

}  // namespace tuff
