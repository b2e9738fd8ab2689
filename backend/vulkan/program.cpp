#include "backend/vulkan/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "backend/vulkan/dispatch.h"
#include "backend/vulkan/error.h"
#include "backend/vulkan/parallel.h"

namespace tuff {

namespace {

// Constants share buffers of this size, so that none nears the limit of one allocation.
constexpr int64_t kConstantsBytes = int64_t{256} << 20;

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// Largest range of each argument or output that a step binds.
std::vector<int64_t> bound_bytes(const Program& program, Range::Space space, size_t count) {
  std::vector<int64_t> bytes(count, 0);
  for (const Step& step : program.steps)
    for (const Range& range : step.bindings)
      if (range.space == space) bytes[range.index] = std::max(bytes[range.index], range.size_bytes);
  return bytes;
}

}  // namespace

Result<std::unique_ptr<VulkanProgram>> VulkanProgram::create(const ProgramServices& services,
                                                             std::shared_ptr<const Program> program,
                                                             const LoadOptions& options) {
  Stopwatch emit(options.timeline, "phase", phase::kEmit);
  std::vector<GlslShader> shaders(program->kernels.size());
  std::vector<double> emit_ms(shaders.size());
  TUFF_RETURN_IF_ERROR(parallel_for(shaders.size(), [&](size_t i) -> Status {
    Stopwatch one(options.timeline, phase::kEmit, fmt::format("kernel {}", i));
    TUFF_ASSIGN(shaders[i], emit_glsl(program->kernels[i], services.context.caps()));
    emit_ms[i] = one.stop();
    return {};
  }));
  double all_ms = emit.stop();
  TUFF_ASSIGN(auto loaded, create(services, std::move(program), shaders, options));
  loaded->stats_.emit_ms = all_ms;
  for (size_t i = 0; i < emit_ms.size(); ++i) loaded->stats_.by_kernel[i].emit_ms = emit_ms[i];
  return loaded;
}

Result<std::unique_ptr<VulkanProgram>> VulkanProgram::create(const ProgramServices& services,
                                                             std::shared_ptr<const Program> program,
                                                             const std::vector<GlslShader>& shaders,
                                                             const LoadOptions& options) {
  TUFF_RETURN_IF_ERROR(check_program(*program, shaders, services.context.caps()));
  std::unique_ptr<VulkanProgram> loaded(new VulkanProgram(services, program));
  loaded->stats_.kernels = static_cast<int64_t>(shaders.size());
  TUFF_ASSIGN(loaded->pipelines_, services.pipelines.pipelines(shaders, options, loaded->stats_));
  Stopwatch prepare(options.timeline, "phase", phase::kPrepare);
  loaded->argument_bytes_ =
      bound_bytes(*program, Range::Space::kArgument, program->arguments.size());
  loaded->output_bytes_ = bound_bytes(*program, Range::Space::kOutput, program->outputs.size());
  TUFF_ASSIGN(loaded->arena_, VulkanBuffer::create(services.context, services.memory,
                                                   program->arena_bytes, MemoryUse::kDevice));
  TUFF_RETURN_IF_ERROR(loaded->place_constants());
  TUFF_RETURN_IF_ERROR(loaded->create_recordings(options.time_steps));
  loaded->stats_.prepare_ms = prepare.stop("arena, constants, descriptors");
  return loaded;
}

VulkanProgram::~VulkanProgram() {
  const DeviceTable& vk = services_.context.vk();
  VkDevice device = services_.context.device();
  if (fence_ != VK_NULL_HANDLE) vk.DestroyFence(device, fence_, nullptr);
  if (descriptor_pool_ != VK_NULL_HANDLE)
    vk.DestroyDescriptorPool(device, descriptor_pool_, nullptr);
  if (command_pool_ != VK_NULL_HANDLE) vk.DestroyCommandPool(device, command_pool_, nullptr);
}

Status VulkanProgram::place_constants() {
  int64_t alignment = std::max<int64_t>(services_.context.caps().min_storage_offset_alignment, 16);
  std::vector<int64_t> sizes;
  for (const Literal& literal : program_->constants) {
    int64_t bytes = (literal.size_bytes() + alignment - 1) / alignment * alignment;
    if (sizes.empty() || sizes.back() + bytes > kConstantsBytes) sizes.push_back(0);
    constant_places_.push_back({sizes.size() - 1, sizes.back()});
    sizes.back() += bytes;
  }
  for (int64_t size : sizes) {
    TUFF_ASSIGN(auto buffer, VulkanBuffer::create(services_.context, services_.memory, size,
                                                  MemoryUse::kDevice));
    constants_.push_back(std::move(buffer));
  }
  for (size_t i = 0; i < constant_places_.size(); ++i) {
    const Literal& literal = program_->constants[i];
    std::span<const std::byte> bytes(literal.bytes(), static_cast<size_t>(literal.size_bytes()));
    TUFF_RETURN_IF_ERROR(services_.transfer.write(*constants_[constant_places_[i].buffer],
                                                  constant_places_[i].offset_bytes, bytes));
  }
  return {};
}

Status VulkanProgram::create_recordings(bool time_steps) {
  Context& context = services_.context;
  const DeviceTable& vk = context.vk();
  TUFF_ASSIGN(command_pool_, context.create_command_pool());
  TUFF_ASSIGN(fence_, context.create_fence());
  uint32_t sets = 0, descriptors = 0;
  for (const Step& step : program_->steps) {
    uint32_t count = pipelines_[step.kernel]->num_descriptors;
    sets += count > 0 ? 1 : 0;
    descriptors += count;
  }
  if (sets > 0) {
    auto slots = static_cast<uint32_t>(slots_.size());
    VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, slots * descriptors};
    VkDescriptorPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                    .maxSets = slots * sets,
                                    .poolSizeCount = 1,
                                    .pPoolSizes = &size};
    TUFF_VK_RETURN_IF_ERROR(
        vk.CreateDescriptorPool(context.device(), &info, nullptr, &descriptor_pool_),
        "create a descriptor pool");
  }
  for (Recording& slot : slots_) {
    TUFF_ASSIGN(slot.commands, context.allocate_command_buffer(command_pool_));
    if (time_steps) {
      TUFF_ASSIGN(slot.clock, StepClock::create(context, program_->steps.size()));
    }
    for (const Step& step : program_->steps) {
      const Pipeline& pipeline = *pipelines_[step.kernel];
      slot.sets.push_back(VK_NULL_HANDLE);
      if (pipeline.num_descriptors == 0) continue;
      VkDescriptorSetAllocateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                       .descriptorPool = descriptor_pool_,
                                       .descriptorSetCount = 1,
                                       .pSetLayouts = &pipeline.set_layout};
      TUFF_VK_RETURN_IF_ERROR(vk.AllocateDescriptorSets(context.device(), &info, &slot.sets.back()),
                              "allocate a descriptor set");
    }
  }
  return {};
}

Status VulkanProgram::check_buffers(Buffers buffers, const std::vector<int64_t>& needed,
                                    const char* what) const {
  if (buffers.size() != needed.size())
    return Error{ErrorCode::kRunFailed,
                 fmt::format("A run is given {} {} buffers, and the program takes {}.",
                             buffers.size(), what, needed.size()),
                 ""};
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i] == nullptr && needed[i] == 0) continue;
    auto* buffer = dynamic_cast<const VulkanBuffer*>(buffers[i].get());
    if (buffer == nullptr || buffer->context() != &services_.context)
      return Error{ErrorCode::kRunFailed,
                   fmt::format("The buffer of {} {} is none of this device.", what, i), ""};
    if (buffer->size_bytes() < needed[i])
      return Error{ErrorCode::kRunFailed,
                   fmt::format("The buffer of {} {} has {} bytes, and the program uses {}.", what,
                               i, buffer->size_bytes(), needed[i]),
                   ""};
  }
  return {};
}

Status VulkanProgram::run(Buffers arguments, Buffers outputs, RunStats* stats) {
  std::lock_guard lock(mutex_);
  auto start = std::chrono::steady_clock::now();
  TUFF_RETURN_IF_ERROR(check_buffers(arguments, argument_bytes_, "argument"));
  TUFF_RETURN_IF_ERROR(check_buffers(outputs, output_bytes_, "output"));
  Recording* recording = nullptr;
  double record_ms = 0;
  int64_t recorded_before = recordings_;
  if (!program_->steps.empty()) {
    TUFF_ASSIGN(recording, recording_for(arguments, outputs));
    if (recordings_ != recorded_before) record_ms = ms_since(start);
    TUFF_RETURN_IF_ERROR(services_.context.submit_and_wait(recording->commands, fence_));
  }
  if (stats == nullptr) return {};
  for (const Step& step : program_->steps) stats->dispatches += step.workgroups > 0 ? 1 : 0;
  stats->submits += program_->steps.empty() ? 0 : 1;
  stats->wall_ms += ms_since(start);
  stats->record_ms += record_ms;
  if (recording != nullptr && recording->clock) return recording->clock->read(stats->steps);
  return {};
}

}  // namespace tuff
