// Recording of a program's commands, once per choice of buffers. The second run
// with the same buffers only submits.
#include <algorithm>

#include "backend/vulkan/dispatch.h"
#include "backend/vulkan/error.h"
#include "backend/vulkan/program.h"

namespace tuff {

namespace {

// Where the steps of a segment work, and how they reach memory there.
struct SegmentAccess {
  VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  VkAccessFlags reads = VK_ACCESS_SHADER_READ_BIT, writes = VK_ACCESS_SHADER_WRITE_BIT;
};

// Most segments are kernels alone: a barrier between those makes no copy wait.
SegmentAccess access_of(const Segment& segment) {
  SegmentAccess access;
  if (std::none_of(segment.begin(), segment.end(),
                   [](const Step* step) { return step->kind == Step::Kind::kCopy; }))
    return access;
  access.stages |= VK_PIPELINE_STAGE_TRANSFER_BIT;
  access.reads |= VK_ACCESS_TRANSFER_READ_BIT;
  access.writes |= VK_ACCESS_TRANSFER_WRITE_BIT;
  return access;
}

// Between steps: what earlier ones wrote is there for later ones.
void record_step_barrier(const DeviceTable& vk, VkCommandBuffer commands,
                         const SegmentAccess& access) {
  VkMemoryBarrier barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                          .srcAccessMask = access.writes,
                          .dstAccessMask = access.writes | access.reads};
  vk.CmdPipelineBarrier(commands, access.stages, access.stages, 0, 1, &barrier, 0, nullptr, 0,
                        nullptr);
}

}  // namespace

// Buffers are known by their numbers, which are never used again; so a recording
// never keeps a buffer alive and never takes a new one for an old one.
Result<VulkanProgram::Recording*> VulkanProgram::recording_for(Buffers arguments, Buffers outputs,
                                                               bool timed) {
  std::vector<uint64_t>& ids = wanted_ids_;
  ids.clear();
  for (Buffers list : {arguments, outputs})
    for (const BufferPtr& buffer : list)
      ids.push_back(buffer != nullptr ? static_cast<const VulkanBuffer&>(*buffer).id() : 0);

  Recording* oldest = &slots_[0];
  for (Recording& slot : slots_) {
    if (slot.last_used < oldest->last_used) oldest = &slot;
    if (slot.last_used == 0 || slot.timed != timed || slot.buffer_ids != ids) continue;
    slot.last_used = ++clock_;
    return &slot;
  }
  oldest->last_used = 0;  // so that a failure below leaves nothing to reuse
  oldest->timed = timed;
  write_descriptors(*oldest, arguments, outputs);
  for (size_t i = 0; i < submits_.segments.size(); ++i)
    TUFF_RETURN_IF_ERROR(
        record(oldest->segments[i], submits_.segments[i], *oldest, arguments, outputs));
  oldest->buffer_ids = ids;
  oldest->last_used = ++clock_;
  ++recordings_;
  return oldest;
}

VulkanProgram::Bound VulkanProgram::bound(const Range& range, Buffers arguments,
                                          Buffers outputs) const {
  auto whole = [&](const BufferPtr& buffer) {
    return Bound{static_cast<const VulkanBuffer*>(buffer.get()), 0, range.size_bytes};
  };
  switch (range.space) {
    case Range::Space::kArgument: return whole(arguments[range.index]);
    case Range::Space::kOutput: return whole(outputs[range.index]);
    case Range::Space::kConstants: {
      const ConstantPlace& place = constant_places_[range.index];
      return {constants_[place.buffer].get(), place.offset_bytes, range.size_bytes};
    }
    case Range::Space::kArena: break;
  }
  return {arena_.get(), range.offset_bytes, range.size_bytes};
}

void VulkanProgram::write_descriptors(Recording& recording, Buffers arguments, Buffers outputs) {
  for (auto [step, set] : recording.sets) {
    const Kernel& kernel = program_->kernels[step->kernel];
    std::vector<VkDescriptorBufferInfo> infos;
    for (size_t b = 0; b < step->bindings.size(); ++b) {
      if (kernel.buffers[b].by_address) continue;
      Bound to = bound(step->bindings[b], arguments, outputs);
      infos.push_back({to.buffer->handle(), static_cast<VkDeviceSize>(to.offset_bytes),
                       static_cast<VkDeviceSize>(to.size_bytes)});
    }
    // Consecutive bindings of one descriptor each are written as one run.
    VkWriteDescriptorSet write{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                               .dstSet = set,
                               .descriptorCount = static_cast<uint32_t>(infos.size()),
                               .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                               .pBufferInfo = infos.data()};
    services_.context.vk().UpdateDescriptorSets(services_.context.device(), 1, &write, 0, nullptr);
  }
}

Status VulkanProgram::record(const RecordedSegment& recorded, const Segment& segment,
                             const Recording& recording, Buffers arguments, Buffers outputs) {
  const DeviceTable& vk = services_.context.vk();
  VkCommandBuffer commands = recorded.commands;
  VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  TUFF_VK_RETURN_IF_ERROR(vk.BeginCommandBuffer(commands, &begin), "record a program");
  if (recording.timed) recorded.clock->reset(commands);
  record_full_barrier(vk, commands);  // what uploads and earlier submissions wrote
  SegmentAccess access = access_of(segment);
  for (const Step* step : segment) {
    if (step->barrier) record_step_barrier(vk, commands, access);
    if (step->kind == Step::Kind::kCopy)
      record_copy(recorded, *step, recording, arguments, outputs);
    else
      record_dispatch(recorded, *step, recording, arguments, outputs);
  }
  record_full_barrier(vk, commands);  // for downloads
  TUFF_VK_RETURN_IF_ERROR(vk.EndCommandBuffer(commands), "record a program");
  return {};
}

void VulkanProgram::record_copy(const RecordedSegment& recorded, const Step& step,
                                const Recording& recording, Buffers arguments, Buffers outputs) {
  Bound from = bound(step.bindings[0], arguments, outputs);
  Bound to = bound(step.bindings[1], arguments, outputs);
  // An argument donated to the output that begins as its copy is there already.
  if (from.buffer == to.buffer && from.offset_bytes == to.offset_bytes) return;
  VkBufferCopy region{.srcOffset = static_cast<uint64_t>(from.offset_bytes),
                      .dstOffset = static_cast<uint64_t>(to.offset_bytes),
                      .size = static_cast<uint64_t>(from.size_bytes)};
  if (recording.timed) recorded.clock->start(recorded.commands, step);
  services_.context.vk().CmdCopyBuffer(recorded.commands, from.buffer->handle(),
                                       to.buffer->handle(), 1, &region);
  if (recording.timed) recorded.clock->stop(recorded.commands);
}

void VulkanProgram::record_dispatch(const RecordedSegment& recorded, const Step& step,
                                    const Recording& recording, Buffers arguments,
                                    Buffers outputs) {
  const DeviceTable& vk = services_.context.vk();
  VkCommandBuffer commands = recorded.commands;
  const Kernel& kernel = program_->kernels[step.kernel];
  const Pipeline& pipeline = *pipelines_[step.kernel];
  if (step.workgroups <= 0) return;
  std::vector<uint64_t> addresses;
  for (size_t b = 0; b < step.bindings.size(); ++b) {
    if (!kernel.buffers[b].by_address) continue;
    Bound to = bound(step.bindings[b], arguments, outputs);
    addresses.push_back(to.buffer->address() + static_cast<uint64_t>(to.offset_bytes));
  }
  std::vector<uint32_t> push = pack_push_constants(addresses, step.workgroups, step.params);
  vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
  if (auto set = recording.sets.find(&step); set != recording.sets.end())
    vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1,
                             &set->second, 0, nullptr);
  vk.CmdPushConstants(commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                      pipeline.push_constant_bytes, push.data());
  auto [x, y] = *fold_grid(step.workgroups, services_.context.caps());
  if (recording.timed) recorded.clock->start(commands, step);
  vk.CmdDispatch(commands, x, y, 1);
  if (recording.timed) recorded.clock->stop(commands);
}

}  // namespace tuff
