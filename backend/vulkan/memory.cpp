#include "backend/vulkan/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "backend/vulkan/error.h"

namespace tuff {

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kBlockBytes = 64 * kMiB;

int memory_type(const Context& context, uint32_t allowed, MemoryUse use) {
  const VkPhysicalDeviceMemoryProperties& memory = context.snapshot().memory;
  if (use == MemoryUse::kStaging)
    return choose_memory_type(memory, allowed, kMapped, VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  int planned = context.plan().memory_type;
  if ((allowed >> planned & 1) != 0) return planned;
  return choose_memory_type(memory, allowed, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0);
}

uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

using Ranges = MemoryBlock::Ranges;

Ranges::node_type make_node() {
  Ranges one{{0, 0}};
  return one.extract(one.begin());
}

void insert(Ranges& ranges, Ranges::node_type node, uint64_t offset, uint64_t size) {
  node.key() = offset;
  node.mapped() = size;
  ranges.insert(std::move(node));
}

// Takes the first free range that fits; nullopt if none does. Host memory that is refused changes
// nothing.
std::optional<uint64_t> take(MemoryBlock& block, uint64_t size, uint64_t alignment) {
  for (auto it = block.free_ranges.begin(); it != block.free_ranges.end(); ++it) {
    auto [offset, length] = *it;
    uint64_t start = align_up(offset, alignment), end = start + size;
    if (end > offset + length) continue;
    Ranges::node_type after = make_node();
    block.spare_nodes.push_back(make_node());
    Ranges::node_type before = block.free_ranges.extract(it);
    if (start > offset) insert(block.free_ranges, std::move(before), offset, start - offset);
    if (end < offset + length)
      insert(block.free_ranges, std::move(after), end, offset + length - end);
    return start;
  }
  return std::nullopt;
}

void give_back(MemoryBlock& block, uint64_t offset, uint64_t size) noexcept {
  Ranges::node_type node = std::move(block.spare_nodes.back());
  block.spare_nodes.pop_back();
  auto next = block.free_ranges.lower_bound(offset);
  if (next != block.free_ranges.end() && next->first == offset + size) {
    size += next->second;
    next = block.free_ranges.erase(next);
  }
  if (next != block.free_ranges.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  insert(block.free_ranges, std::move(node), offset, size);
}

}  // namespace

MemoryPool::~MemoryPool() {
  while (!blocks_.empty()) release(blocks_.begin());
}

// Small devices get small blocks.
uint64_t MemoryPool::block_bytes() const {
  auto limit = static_cast<uint64_t>(context_.caps().max_allocation_bytes);
  return std::clamp(limit / 16, kMiB, kBlockBytes);
}

Result<Allocation> MemoryPool::allocate(const VkMemoryRequirements& requirements, MemoryUse use) {
  std::lock_guard lock(mutex_);
  int type = memory_type(context_, requirements.memoryTypeBits, use);
  if (type < 0)
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("The device ({}) has no memory type for buffers.", context_.caps().name), ""};
  uint64_t size = requirements.size;
  if (size > block_bytes() / 4) {
    TUFF_ASSIGN(auto block, add_block(size, static_cast<uint32_t>(type), use, false, size));
    return Allocation{block, 0, size};
  }
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
    if (!block->shared || block->type != static_cast<uint32_t>(type)) continue;
    if (use == MemoryUse::kStaging && block->mapped == nullptr) continue;
    if (auto offset = take(*block, size, requirements.alignment))
      return Allocation{block, *offset, size};
  }
  auto block = add_block(block_bytes(), static_cast<uint32_t>(type), use, true, size);
  if (!block) return block.take_error();
  return Allocation{*block, *take(**block, size, requirements.alignment), size};
}

Result<std::list<MemoryBlock>::iterator> MemoryPool::add_block(uint64_t size_bytes, uint32_t type,
                                                               MemoryUse use, bool shared,
                                                               uint64_t needed_bytes) {
  const VkPhysicalDeviceLimits& limits = context_.snapshot().properties.limits;
  if (size_bytes > static_cast<uint64_t>(context_.caps().max_allocation_bytes))
    return out_of_memory(needed_bytes, "it is above the size of one allocation");
  if (blocks_.size() >= limits.maxMemoryAllocationCount)
    return out_of_memory(needed_bytes, fmt::format("all {} allocations are taken "
                                                   "(maxMemoryAllocationCount)",
                                                   limits.maxMemoryAllocationCount));
  if (std::optional<uint64_t> left = left_of_heap_of(type); left && size_bytes > *left)
    return out_of_memory(
        needed_bytes, fmt::format("the driver has {} bytes left for this process, since others use "
                                  "the device's memory, too",
                                  *left));
  VkMemoryAllocateFlagsInfo flags{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                  .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  VkMemoryAllocateInfo info{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                            .pNext = context_.plan().buffer_device_address ? &flags : nullptr,
                            .allocationSize = size_bytes,
                            .memoryTypeIndex = type};
  // In the list before there is memory that could be lost.
  MemoryBlock fresh{.size_bytes = size_bytes, .type = type, .shared = shared};
  if (shared) fresh.free_ranges[0] = size_bytes;
  auto block = blocks_.insert(blocks_.end(), std::move(fresh));
  const DeviceTable& vk = context_.vk();
  VkResult result = vk.AllocateMemory(context_.device(), &info, nullptr, &block->memory);
  if (result != VK_SUCCESS) blocks_.erase(block);
  if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY)
    return out_of_memory(needed_bytes, "the driver has no more (" + vk_result_name(result) + ")");
  TUFF_VK_RETURN_IF_ERROR(result, "allocate device memory");
  allocated_bytes_ += size_bytes;

  VkMemoryPropertyFlags properties = context_.snapshot().memory.memoryTypes[type].propertyFlags;
  if ((properties & kMapped) == kMapped) {
    void* mapped = nullptr;
    result = vk.MapMemory(context_.device(), block->memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    // Only staging needs it: a host without room for its addresses stages what is not mapped.
    if (result != VK_SUCCESS && use == MemoryUse::kStaging) {
      release(block);
      return vk_error(result, "map device memory");
    }
    if (result == VK_SUCCESS) block->mapped = static_cast<std::byte*>(mapped);
  }
  return block;
}

void MemoryPool::free(const Allocation& allocation) {
  std::lock_guard lock(mutex_);
  MemoryBlock& block = *allocation.block;
  if (!block.shared) return release(allocation.block);
  give_back(block, allocation.offset_bytes, allocation.size_bytes);
  // An empty block goes back, but for the last: the next small buffer is near.
  bool empty =
      block.free_ranges.size() == 1 && block.free_ranges.begin()->second == block.size_bytes;
  auto is_other = [&](const MemoryBlock& b) {
    return &b != &block && b.shared && b.type == block.type;
  };
  if (empty && std::any_of(blocks_.begin(), blocks_.end(), is_other)) release(allocation.block);
}

void MemoryPool::release(std::list<MemoryBlock>::iterator block) {
  allocated_bytes_ -= block->size_bytes;
  context_.vk().FreeMemory(context_.device(), block->memory, nullptr);  // unmaps, too
  blocks_.erase(block);
}

std::optional<uint64_t> MemoryPool::left_of_heap_of(uint32_t type) const {
  return ask_budget_(context_.snapshot().memory.memoryTypes[type].heapIndex);
}

Status MemoryPool::check_budget(int64_t needed_bytes, const std::string& what) const {
  std::optional<uint64_t> left =
      left_of_heap_of(static_cast<uint32_t>(context_.plan().memory_type));
  if (!left || needed_bytes <= 0 || static_cast<uint64_t>(needed_bytes) <= *left) return {};
  return Error{ErrorCode::kOutOfMemory,
               fmt::format("The device ({}) has {} bytes of memory left for this process, and {} "
                           "need {}. Close other programs that use it, use smaller batches or "
                           "another device.",
                           context_.caps().name, *left, what, needed_bytes),
               ""};
}

int64_t MemoryPool::allocated_bytes() {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(allocated_bytes_);
}

int64_t MemoryPool::num_blocks() {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(blocks_.size());
}

Error MemoryPool::out_of_memory(uint64_t needed_bytes, const std::string& reason) const {
  uint64_t heap = 0;
  const VkPhysicalDeviceMemoryProperties& memory = context_.snapshot().memory;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      heap = std::max<uint64_t>(heap, memory.memoryHeaps[i].size);
  return {
      ErrorCode::kOutOfMemory,
      fmt::format("The device ({}) cannot hold a buffer of {} bytes: {}. In use are {} bytes of "
                  "{} (largest device-local heap), and one allocation holds at most {} bytes "
                  "(maxMemoryAllocationSize). Use smaller batches or another device.",
                  context_.caps().name, needed_bytes, reason, allocated_bytes_, heap,
                  context_.caps().max_allocation_bytes),
      ""};
}

VulkanBuffer::VulkanBuffer(Context& context, MemoryPool& pool, int64_t size_bytes)
    : context_(context), pool_(pool), size_bytes_(size_bytes) {
  static std::atomic<uint64_t> next_id{1};
  id_ = next_id++;
}

Result<std::shared_ptr<VulkanBuffer>> VulkanBuffer::create(Context& context, MemoryPool& pool,
                                                           int64_t size_bytes, MemoryUse use) {
  std::shared_ptr<VulkanBuffer> buffer(new VulkanBuffer(context, pool, size_bytes));
  if (size_bytes > 0) TUFF_RETURN_IF_ERROR(buffer->create_handle(use));
  return buffer;
}

Status VulkanBuffer::create_handle(MemoryUse use) {
  const DeviceTable& vk = context_.vk();
  bool by_address = context_.plan().buffer_device_address;
  VkBufferCreateInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                          .size = align_up(static_cast<uint64_t>(size_bytes_), 4),
                          .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                   VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                   VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  if (by_address) info.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  // Drivers need not check; a size that no allocation holds is refused before it is made.
  VkMemoryRequirements requirements{.size = info.size, .alignment = 1, .memoryTypeBits = ~0u};
  if (size_bytes_ <= context_.caps().max_allocation_bytes) {
    TUFF_VK_RETURN_IF_ERROR(vk.CreateBuffer(context_.device(), &info, nullptr, &handle_),
                            fmt::format("create a buffer of {} bytes", size_bytes_));
    vk.GetBufferMemoryRequirements(context_.device(), handle_, &requirements);
  }
  TUFF_ASSIGN(allocation_, pool_.allocate(requirements, use));
  TUFF_VK_RETURN_IF_ERROR(
      vk.BindBufferMemory(context_.device(), handle_, allocation_->block->memory,
                          allocation_->offset_bytes),
      "bind memory to a buffer");
  mapped_ = allocation_->mapped();
  return {};
}

std::shared_ptr<VulkanBuffer> VulkanBuffer::wrap(Context& context, MemoryPool& pool,
                                                 VkBuffer handle, int64_t offset_bytes,
                                                 int64_t size_bytes,
                                                 std::shared_ptr<const void> owner) {
  std::shared_ptr<VulkanBuffer> buffer(new VulkanBuffer(context, pool, size_bytes));
  buffer->handle_ = handle;
  buffer->offset_bytes_ = offset_bytes;
  buffer->owner_ = std::move(owner);
  return buffer;
}

uint64_t VulkanBuffer::address() const {
  if (handle_ == VK_NULL_HANDLE || !context_.plan().buffer_device_address) return 0;
  VkBufferDeviceAddressInfo query{.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                  .buffer = handle_};
  return context_.vk().GetBufferDeviceAddress(context_.device(), &query);
}

void VulkanBuffer::set_mirror(Mirror mirror) const {
  std::lock_guard lock(mirror_mutex_);
  mirror_ = std::move(mirror);
}

VulkanBuffer::Mirror VulkanBuffer::mirror() const {
  std::lock_guard lock(mirror_mutex_);
  return mirror_;
}

VulkanBuffer::~VulkanBuffer() {
  if (handle_ != VK_NULL_HANDLE && owner_ == nullptr)
    context_.vk().DestroyBuffer(context_.device(), handle_, nullptr);
  if (allocation_) pool_.free(*allocation_);
}

}  // namespace tuff
