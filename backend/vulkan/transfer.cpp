#include "backend/vulkan/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backend/vulkan/error.h"

namespace tuff {

namespace {

constexpr size_t kStagingBytes = size_t{16} << 20;

Status check_range(const VulkanBuffer& buffer, int64_t offset_bytes, size_t size_bytes) {
  auto size = static_cast<int64_t>(size_bytes);
  if (offset_bytes >= 0 && size <= buffer.size_bytes() &&
      offset_bytes <= buffer.size_bytes() - size)
    return {};
  return Error{ErrorCode::kRunFailed,
               fmt::format("A copy of {} bytes at offset {} leaves its buffer of {} bytes.",
                           size_bytes, offset_bytes, buffer.size_bytes()),
               ""};
}

}  // namespace

void record_full_barrier(const DeviceTable& vk, VkCommandBuffer commands) {
  constexpr VkPipelineStageFlags kStages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT |
                                           VK_PIPELINE_STAGE_TRANSFER_BIT |
                                           VK_PIPELINE_STAGE_HOST_BIT;
  constexpr VkAccessFlags kWrites =
      VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_HOST_WRITE_BIT;
  constexpr VkAccessFlags kReads =
      VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_HOST_READ_BIT;
  VkMemoryBarrier barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                          .srcAccessMask = kWrites,
                          .dstAccessMask = kReads | kWrites};
  vk.CmdPipelineBarrier(commands, kStages, kStages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

Transfer::~Transfer() {
  const DeviceTable& vk = context_.vk();
  if (fence_ != VK_NULL_HANDLE) vk.DestroyFence(context_.device(), fence_, nullptr);
  if (command_pool_ != VK_NULL_HANDLE)
    vk.DestroyCommandPool(context_.device(), command_pool_, nullptr);
}

Status Transfer::write(const VulkanBuffer& buffer, int64_t offset_bytes,
                       std::span<const std::byte> data) {
  TUFF_RETURN_IF_ERROR(check_range(buffer, offset_bytes, data.size()));
  if (data.empty()) return {};
  if (direct(buffer)) {
    std::memcpy(buffer.mapped() + offset_bytes, data.data(), data.size());
    return {};
  }
  std::lock_guard lock(mutex_);
  TUFF_RETURN_IF_ERROR(create_staging());
  for (size_t done = 0; done < data.size(); done += kStagingBytes) {
    size_t piece = std::min(kStagingBytes, data.size() - done);
    std::memcpy(staging_->mapped(), data.data() + done, piece);
    TUFF_RETURN_IF_ERROR(copy(staging_->handle(), 0, buffer.handle(),
                              offset_bytes + static_cast<int64_t>(done), piece));
  }
  return {};
}

Status Transfer::read(const VulkanBuffer& buffer, int64_t offset_bytes, std::span<std::byte> data) {
  TUFF_RETURN_IF_ERROR(check_range(buffer, offset_bytes, data.size()));
  if (data.empty()) return {};
  if (direct(buffer)) {
    std::memcpy(data.data(), buffer.mapped() + offset_bytes, data.size());
    return {};
  }
  std::lock_guard lock(mutex_);
  TUFF_RETURN_IF_ERROR(create_staging());
  for (size_t done = 0; done < data.size(); done += kStagingBytes) {
    size_t piece = std::min(kStagingBytes, data.size() - done);
    TUFF_RETURN_IF_ERROR(copy(buffer.handle(), offset_bytes + static_cast<int64_t>(done),
                              staging_->handle(), 0, piece));
    std::memcpy(data.data() + done, staging_->mapped(), piece);
  }
  return {};
}

Status Transfer::create_staging() {
  if (staging_ != nullptr) return {};
  if (command_pool_ == VK_NULL_HANDLE) {
    TUFF_ASSIGN(command_pool_, context_.create_command_pool());
  }
  if (commands_ == VK_NULL_HANDLE) {
    TUFF_ASSIGN(commands_, context_.allocate_command_buffer(command_pool_));
  }
  if (fence_ == VK_NULL_HANDLE) {
    TUFF_ASSIGN(fence_, context_.create_fence());
  }
  TUFF_ASSIGN(staging_, VulkanBuffer::create(context_, pool_, kStagingBytes, MemoryUse::kStaging));
  return {};
}

Status Transfer::copy(VkBuffer source, int64_t source_offset, VkBuffer target,
                      int64_t target_offset, size_t size_bytes) {
  const DeviceTable& vk = context_.vk();
  VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                 .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  TUFF_VK_RETURN_IF_ERROR(vk.BeginCommandBuffer(commands_, &begin), "record a copy");
  record_full_barrier(vk, commands_);
  VkBufferCopy region{.srcOffset = static_cast<uint64_t>(source_offset),
                      .dstOffset = static_cast<uint64_t>(target_offset),
                      .size = size_bytes};
  vk.CmdCopyBuffer(commands_, source, target, 1, &region);
  record_full_barrier(vk, commands_);
  TUFF_VK_RETURN_IF_ERROR(vk.EndCommandBuffer(commands_), "record a copy");
  return context_.submit_and_wait(commands_, fence_);
}

}  // namespace tuff
