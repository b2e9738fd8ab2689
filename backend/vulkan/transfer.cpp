#include "backend/vulkan/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backend/vulkan/error.h"

namespace tuff {

namespace {

constexpr size_t kStagingBytes = size_t{16} << 20;
constexpr VkPipelineStageFlags kStages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kReads = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

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

void record_first_barrier(const DeviceTable& vk, VkCommandBuffer commands) {
  VkMemoryBarrier barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                          .srcAccessMask = kWrites,
                          .dstAccessMask = kReads | kWrites};
  vk.CmdPipelineBarrier(commands, kStages, kStages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void record_host_barrier(const DeviceTable& vk, VkCommandBuffer commands) {
  VkMemoryBarrier barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                          .srcAccessMask = kWrites,
                          .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
  vk.CmdPipelineBarrier(commands, kStages, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr,
                        0, nullptr);
}

Transfer::~Transfer() {
  const DeviceTable& vk = context_.vk();
  bool under_way = false;
  for (const Piece& piece : pieces_) under_way |= piece.under_way;
  if (under_way) context_.wait_idle();
  for (const Piece& piece : pieces_)
    if (piece.fence != VK_NULL_HANDLE) vk.DestroyFence(context_.device(), piece.fence, nullptr);
  if (command_pool_ != VK_NULL_HANDLE)
    vk.DestroyCommandPool(context_.device(), command_pool_, nullptr);
}

bool Transfer::reads_directly(const VulkanBuffer& buffer, int64_t size_bytes) const {
  return buffer.mapped() != nullptr && !force_staging_ &&
         size_bytes <= context_.plan().host_read_bytes;
}

Status Transfer::write(const VulkanBuffer& buffer, int64_t offset_bytes,
                       std::span<const std::byte> data) {
  TUFF_RETURN_IF_ERROR(check_range(buffer, offset_bytes, data.size()));
  if (data.empty()) return {};
  buffer.drop_mirror();
  if (buffer.mapped() == nullptr || force_staging_) return write_staged(buffer, offset_bytes, data);
  std::memcpy(buffer.mapped() + offset_bytes, data.data(), data.size());
  return {};
}

Status Transfer::read(const VulkanBuffer& buffer, int64_t offset_bytes, std::span<std::byte> data) {
  TUFF_RETURN_IF_ERROR(check_range(buffer, offset_bytes, data.size()));
  if (data.empty()) return {};
  if (VulkanBuffer::Mirror mirror = buffer.mirror(); mirror.buffer != nullptr) {
    std::memcpy(data.data(), mirror.buffer->mapped() + mirror.offset_bytes + offset_bytes,
                data.size());
    return {};
  }
  if (!reads_directly(buffer, static_cast<int64_t>(data.size())))
    return read_staged(buffer, offset_bytes, data);
  std::memcpy(data.data(), buffer.mapped() + offset_bytes, data.size());
  return {};
}

// While the device copies one piece, the host fills the next.
Status Transfer::write_staged(const VulkanBuffer& buffer, int64_t offset_bytes,
                              std::span<const std::byte> data) {
  std::lock_guard lock(mutex_);
  for (size_t done = 0; done < data.size(); done += kStagingBytes) {
    size_t size = std::min(kStagingBytes, data.size() - done);
    TUFF_ASSIGN(Piece * piece, next_piece());
    std::memcpy(piece->staging->mapped(), data.data() + done, size);
    TUFF_RETURN_IF_ERROR(
        start_copy(*piece, buffer, piece->staging->handle(), 0, buffer.handle(),
                   buffer.offset_bytes() + offset_bytes + static_cast<int64_t>(done), size));
  }
  // A piece keeps its buffer until it is used again: not large ones, which someone may want to go.
  if (data.size() > kStagingBytes)
    for (Piece& piece : pieces_) TUFF_RETURN_IF_ERROR(finish(piece));
  return {};
}

Status Transfer::read_staged(const VulkanBuffer& buffer, int64_t offset_bytes,
                             std::span<std::byte> data) {
  std::lock_guard lock(mutex_);
  Piece* before = nullptr;  // its copy runs; it is of the bytes that end at `done`
  size_t before_size = 0;
  for (size_t done = 0;;) {
    Piece* piece = nullptr;
    size_t size = std::min(kStagingBytes, data.size() - done);
    if (size > 0) {
      TUFF_ASSIGN(piece, next_piece());
      TUFF_RETURN_IF_ERROR(
          start_copy(*piece, buffer, buffer.handle(),
                     buffer.offset_bytes() + offset_bytes + static_cast<int64_t>(done),
                     piece->staging->handle(), 0, size));
    }
    if (before != nullptr) {
      TUFF_RETURN_IF_ERROR(finish(*before));
      std::memcpy(data.data() + done - before_size, before->staging->mapped(), before_size);
    }
    if (piece == nullptr) return {};
    done += size;
    before = piece;
    before_size = size;
  }
}

Result<Transfer::Piece*> Transfer::next_piece() {
  Piece& piece = pieces_[next_];
  TUFF_RETURN_IF_ERROR(finish(piece));
  TUFF_RETURN_IF_ERROR(create(piece));
  next_ = (next_ + 1) % pieces_.size();
  return &piece;
}

Status Transfer::finish(Piece& piece) {
  if (!piece.under_way) return {};
  TUFF_RETURN_IF_ERROR(context_.wait(piece.fence));
  piece.under_way = false;
  piece.user = nullptr;
  return {};
}

Status Transfer::create(Piece& piece) {
  if (piece.staging != nullptr) return {};
  if (command_pool_ == VK_NULL_HANDLE) {
    TUFF_ASSIGN(command_pool_, context_.create_command_pool());
  }
  if (piece.commands == VK_NULL_HANDLE) {
    TUFF_ASSIGN(piece.commands, context_.allocate_command_buffer(command_pool_));
  }
  if (piece.fence == VK_NULL_HANDLE) {
    TUFF_ASSIGN(piece.fence, context_.create_fence());
  }
  TUFF_ASSIGN(piece.staging,
              VulkanBuffer::create(context_, pool_, kStagingBytes, MemoryUse::kStaging));
  return {};
}

Status Transfer::start_copy(Piece& piece, const VulkanBuffer& user, VkBuffer source,
                            int64_t source_offset, VkBuffer target, int64_t target_offset,
                            size_t size_bytes) {
  const DeviceTable& vk = context_.vk();
  VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                 .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  TUFF_VK_RETURN_IF_ERROR(vk.BeginCommandBuffer(piece.commands, &begin), "record a copy");
  record_first_barrier(vk, piece.commands);
  VkBufferCopy region{.srcOffset = static_cast<uint64_t>(source_offset),
                      .dstOffset = static_cast<uint64_t>(target_offset),
                      .size = size_bytes};
  vk.CmdCopyBuffer(piece.commands, source, target, 1, &region);
  record_host_barrier(vk, piece.commands);
  TUFF_VK_RETURN_IF_ERROR(vk.EndCommandBuffer(piece.commands), "record a copy");
  TUFF_RETURN_IF_ERROR(context_.submit(piece.commands, piece.fence));
  piece.under_way = true;
  piece.user = user.shared_from_this();
  return {};
}

}  // namespace tuff
