// Recording of a program's commands, once per choice of buffers. The second run
// with the same buffers only submits.
#include <algorithm>

#include "backend/vulkan/dispatch.h"
#include "backend/vulkan/error.h"
#include "backend/vulkan/program.h"

namespace tuff {

namespace {

// Outputs of so many bytes in all come to the host's memory in the run itself.
constexpr int64_t kMirrorBytes = int64_t{256} << 10;
constexpr int64_t kMirrorAlignment = 64;

int64_t mirror_place(int64_t end_bytes) {
  return (end_bytes + kMirrorAlignment - 1) / kMirrorAlignment * kMirrorAlignment;
}

// Calls visit(output, its place in the mirror).
template <typename Visit>
void for_each_mirrored(std::span<const BufferPtr> outputs, Visit&& visit) {
  int64_t end_bytes = 0;
  for (const BufferPtr& output : outputs) {
    if (output == nullptr || output->size_bytes() == 0) continue;
    int64_t offset = mirror_place(end_bytes);
    visit(static_cast<const VulkanBuffer&>(*output), offset);
    end_bytes = offset + output->size_bytes();
  }
}

void record_step_barrier(const DeviceTable& vk, VkCommandBuffer commands,
                         const BarrierMasks& masks) {
  if (masks.before == 0) return;
  VkMemoryBarrier barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                          .srcAccessMask = masks.written,
                          .dstAccessMask = masks.accessed};
  vk.CmdPipelineBarrier(commands, masks.before, masks.after, 0, masks.written != 0 ? 1 : 0,
                        &barrier, 0, nullptr, 0, nullptr);
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
  TUFF_RETURN_IF_ERROR(prepare_segments(*oldest));
  TUFF_RETURN_IF_ERROR(create_mirror(*oldest, outputs));
  write_descriptors(*oldest, arguments, outputs);
  const SubmitPlan& plan = plan_of(timed);
  for (size_t i = 0; i < plan.segments.size(); ++i) {
    // The plan's last task submits the last of its segments.
    bool mirrored = oldest->mirror != nullptr && i == plan.tasks.back().segment;
    TUFF_RETURN_IF_ERROR(
        record(oldest->segments[i], plan.segments[i], *oldest, arguments, outputs, mirrored));
  }
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
  return {arena_[static_cast<size_t>(range.offset_bytes / segment_bytes_)].get(),
          range.offset_bytes % segment_bytes_, range.size_bytes};
}

void VulkanProgram::write_descriptors(Recording& recording, Buffers arguments, Buffers outputs) {
  for (auto [step, set] : recording.sets) {
    const Kernel& kernel = program_->kernels[step->kernel];
    std::vector<VkDescriptorBufferInfo> infos;
    for (size_t b = 0; b < step->bindings.size(); ++b) {
      if (kernel.buffers[b].by_address) continue;
      Bound to = bound(step->bindings[b], arguments, outputs);
      infos.push_back({to.buffer->handle(), static_cast<VkDeviceSize>(to.place()),
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
                             const Recording& recording, Buffers arguments, Buffers outputs,
                             bool mirrored) {
  const DeviceTable& vk = services_.context.vk();
  VkCommandBuffer commands = recorded.commands;
  VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  TUFF_VK_RETURN_IF_ERROR(vk.BeginCommandBuffer(commands, &begin), "record a program");
  if (has_clock(recorded, recording)) recorded.clock->reset(commands);
  record_first_barrier(vk, commands);  // what uploads and earlier submissions wrote
  std::vector<BarrierMasks> barriers = barriers_of(segment, arguments, outputs);
  for (size_t i = 0; i < segment.size(); ++i) {
    record_step_barrier(vk, commands, barriers[i]);
    if (segment[i]->kind == Step::Kind::kCopy)
      record_copy(recorded, *segment[i], recording, arguments, outputs);
    else
      record_dispatch(recorded, *segment[i], recording, arguments, outputs);
  }
  if (mirrored) record_mirror(recorded, recording, outputs);
  record_host_barrier(vk, commands);
  TUFF_VK_RETURN_IF_ERROR(vk.EndCommandBuffer(commands), "record a program");
  return {};
}

std::vector<BarrierMasks> VulkanProgram::barriers_of(const Segment& segment, Buffers arguments,
                                                     Buffers outputs) const {
  std::vector<TouchingCommand> commands;
  for (const Step* step : segment) {
    TouchingCommand& command = commands.emplace_back();
    command.copy = step->kind == Step::Kind::kCopy;
    command.barrier = step->barrier;
    for (size_t b = 0; b < step->bindings.size(); ++b) {
      Bound to = bound(step->bindings[b], arguments, outputs);
      bool written = command.copy
                         ? b == 1
                         : program_->kernels[step->kernel].buffers[b].access != Access::kRead;
      command.touches.push_back({to.buffer->id(), to.offset_bytes, to.size_bytes, written});
    }
  }
  return plan_barriers(commands);
}

// Where the host does not read the outputs themselves, and the program's end is known, it finds
// small ones in memory of its own when the run ends: no further submission fetches them.
Status VulkanProgram::create_mirror(Recording& recording, Buffers outputs) {
  recording.mirror = nullptr;
  const std::vector<Task>& tasks = plan_of(recording.timed).tasks;
  bool known_end = !tasks.empty() && tasks.back().kind == Task::Kind::kSubmit;
  int64_t bytes = 0;
  bool reads_directly = true;
  for (const BufferPtr& output : outputs) {
    if (output == nullptr || output->size_bytes() == 0) continue;
    reads_directly &= services_.transfer.reads_directly(static_cast<const VulkanBuffer&>(*output),
                                                        output->size_bytes());
    bytes = mirror_place(bytes) + output->size_bytes();
  }
  if (!known_end || reads_directly || bytes > kMirrorBytes) return {};
  TUFF_ASSIGN(recording.mirror, VulkanBuffer::create(services_.context, services_.memory, bytes,
                                                     MemoryUse::kStaging));
  return {};
}

void VulkanProgram::record_mirror(const RecordedSegment& recorded, const Recording& recording,
                                  Buffers outputs) {
  const DeviceTable& vk = services_.context.vk();
  record_first_barrier(vk, recorded.commands);
  for_each_mirrored(outputs, [&](const VulkanBuffer& output, int64_t offset) {
    VkBufferCopy region{.srcOffset = static_cast<uint64_t>(output.offset_bytes()),
                        .dstOffset = static_cast<uint64_t>(offset),
                        .size = static_cast<uint64_t>(output.size_bytes())};
    vk.CmdCopyBuffer(recorded.commands, output.handle(), recording.mirror->handle(), 1, &region);
  });
}

// After a run: reads of the outputs find the mirror.
void VulkanProgram::offer_mirror(const Recording& recording, Buffers outputs) {
  if (recording.mirror == nullptr) return;
  for_each_mirrored(outputs, [&](const VulkanBuffer& output, int64_t offset) {
    output.set_mirror({recording.mirror, offset});
  });
}

void VulkanProgram::record_copy(const RecordedSegment& recorded, const Step& step,
                                const Recording& recording, Buffers arguments, Buffers outputs) {
  Bound from = bound(step.bindings[0], arguments, outputs);
  Bound to = bound(step.bindings[1], arguments, outputs);
  // An argument donated to the output that begins as its copy is there already.
  if (from.buffer == to.buffer && from.offset_bytes == to.offset_bytes) return;
  VkBufferCopy region{.srcOffset = static_cast<uint64_t>(from.place()),
                      .dstOffset = static_cast<uint64_t>(to.place()),
                      .size = static_cast<uint64_t>(from.size_bytes)};
  if (has_clock(recorded, recording)) recorded.clock->start(recorded.commands, step);
  services_.context.vk().CmdCopyBuffer(recorded.commands, from.buffer->handle(),
                                       to.buffer->handle(), 1, &region);
  if (has_clock(recorded, recording)) recorded.clock->stop(recorded.commands);
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
    addresses.push_back(to.buffer->address() + static_cast<uint64_t>(to.place()));
  }
  std::vector<uint32_t> push = pack_push_constants(addresses, step.workgroups, step.params);
  vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
  if (auto set = recording.sets.find(&step); set != recording.sets.end())
    vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1,
                             &set->second, 0, nullptr);
  vk.CmdPushConstants(commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                      pipeline.push_constant_bytes, push.data());
  auto [x, y] = *fold_grid(step.workgroups, services_.context.caps());
  if (has_clock(recorded, recording)) recorded.clock->start(commands, step);
  vk.CmdDispatch(commands, x, y, 1);
  if (has_clock(recorded, recording)) recorded.clock->stop(commands);
}

}  // namespace tuff
