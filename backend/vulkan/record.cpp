// Recording of a program's commands, once per choice of buffers. The second run
// with the same buffers only submits.
#include "backend/vulkan/dispatch.h"
#include "backend/vulkan/error.h"
#include "backend/vulkan/program.h"

namespace tuff {

// Buffers are known by their numbers, which are never used again; so a recording
// never keeps a buffer alive and never takes a new one for an old one.
Result<VulkanProgram::Recording*> VulkanProgram::recording_for(Buffers arguments, Buffers outputs) {
  std::vector<uint64_t> ids{0};  // never empty: empty means not recorded
  for (Buffers list : {arguments, outputs})
    for (const BufferPtr& buffer : list)
      ids.push_back(buffer != nullptr ? static_cast<const VulkanBuffer&>(*buffer).id() : 0);

  Recording* oldest = &slots_[0];
  for (Recording& slot : slots_) {
    if (slot.last_used < oldest->last_used) oldest = &slot;
    if (slot.buffer_ids != ids) continue;
    slot.last_used = ++clock_;
    return &slot;
  }
  oldest->buffer_ids.clear();  // so that a failure below leaves nothing to reuse
  write_descriptors(*oldest, arguments, outputs);
  TUFF_RETURN_IF_ERROR(record(*oldest, arguments, outputs));
  oldest->buffer_ids = std::move(ids);
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
  const Program& program = *program_;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (recording.sets[i] == VK_NULL_HANDLE) continue;
    const Step& step = program.steps[i];
    const Kernel& kernel = program.kernels[step.kernel];
    std::vector<VkDescriptorBufferInfo> infos;
    for (size_t b = 0; b < step.bindings.size(); ++b) {
      if (kernel.buffers[b].by_address) continue;
      Bound to = bound(step.bindings[b], arguments, outputs);
      infos.push_back({to.buffer->handle(), static_cast<VkDeviceSize>(to.offset_bytes),
                       static_cast<VkDeviceSize>(to.size_bytes)});
    }
    // Consecutive bindings of one descriptor each are written as one run.
    VkWriteDescriptorSet write{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                               .dstSet = recording.sets[i],
                               .descriptorCount = static_cast<uint32_t>(infos.size()),
                               .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                               .pBufferInfo = infos.data()};
    services_.context.vk().UpdateDescriptorSets(services_.context.device(), 1, &write, 0, nullptr);
  }
}

Status VulkanProgram::record(Recording& recording, Buffers arguments, Buffers outputs) {
  const DeviceTable& vk = services_.context.vk();
  VkCommandBuffer commands = recording.commands;
  VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  TUFF_VK_RETURN_IF_ERROR(vk.BeginCommandBuffer(commands, &begin), "record a program");
  if (recording.clock) recording.clock->reset(commands);
  record_full_barrier(vk, commands);  // what uploads and earlier runs wrote
  for (size_t step = 0; step < program_->steps.size(); ++step)
    record_step(commands, step, recording, arguments, outputs);
  record_full_barrier(vk, commands);  // for downloads
  TUFF_VK_RETURN_IF_ERROR(vk.EndCommandBuffer(commands), "record a program");
  return {};
}

void VulkanProgram::record_step(VkCommandBuffer commands, size_t index, const Recording& recording,
                                Buffers arguments, Buffers outputs) {
  const DeviceTable& vk = services_.context.vk();
  const Step& step = program_->steps[index];
  const Kernel& kernel = program_->kernels[step.kernel];
  const Pipeline& pipeline = *pipelines_[step.kernel];
  if (step.barrier) {
    VkMemoryBarrier barrier{
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                          VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0,
                          nullptr);
  }
  if (step.workgroups <= 0) return;
  std::vector<uint64_t> addresses;
  for (size_t b = 0; b < step.bindings.size(); ++b) {
    if (!kernel.buffers[b].by_address) continue;
    Bound to = bound(step.bindings[b], arguments, outputs);
    addresses.push_back(to.buffer->address() + static_cast<uint64_t>(to.offset_bytes));
  }
  std::vector<uint32_t> push = pack_push_constants(addresses, step.workgroups, step.params);
  vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
  if (recording.sets[index] != VK_NULL_HANDLE)
    vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1,
                             &recording.sets[index], 0, nullptr);
  vk.CmdPushConstants(commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                      pipeline.push_constant_bytes, push.data());
  auto [x, y] = *fold_grid(step.workgroups, services_.context.caps());
  if (recording.clock) recording.clock->start(commands, step);
  vk.CmdDispatch(commands, x, y, 1);
  if (recording.clock) recording.clock->stop(commands);
}

}  // namespace tuff
