#include "backend/vulkan/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "backend/plan/plan.h"
#include "backend/plan/ranges.h"
#include "backend/vulkan/dispatch.h"
#include "backend/vulkan/error.h"
#include "backend/vulkan/pipelines/parallel.h"

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
  for_each_step(program.steps, [&](const Step& step, int) {
    for (const Range& range : step.bindings)
      if (range.space == space) bytes[range.index] = std::max(bytes[range.index], range.size_bytes);
  });
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
  loaded->time_steps_ = options.time_steps;
  TUFF_ASSIGN(loaded->pipelines_, services.pipelines.pipelines(shaders, options, loaded->stats_));
  Stopwatch prepare(options.timeline, "phase", phase::kPrepare);
  loaded->argument_bytes_ =
      bound_bytes(*program, Range::Space::kArgument, program->arguments.size());
  loaded->output_bytes_ = bound_bytes(*program, Range::Space::kOutput, program->outputs.size());
  TUFF_RETURN_IF_ERROR(loaded->allocate_arena());
  TUFF_RETURN_IF_ERROR(loaded->place_constants());
  TUFF_RETURN_IF_ERROR(loaded->load_hosted());
  TUFF_RETURN_IF_ERROR(loaded->create_recordings());
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

Status VulkanProgram::allocate_arena() {
  TUFF_RETURN_IF_ERROR(services_.memory.check_budget(program_->arena_bytes, "the temporaries"));
  segment_bytes_ = arena_segment_bytes(services_.context.caps());
  for (int64_t begin = 0; begin < program_->arena_bytes; begin += segment_bytes_) {
    int64_t size = std::min(segment_bytes_, program_->arena_bytes - begin);
    TUFF_ASSIGN(auto segment, VulkanBuffer::create(services_.context, services_.memory, size,
                                                   MemoryUse::kDevice));
    arena_.push_back(std::move(segment));
  }
  return {};
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

Status VulkanProgram::create_recordings() {
  Context& context = services_.context;
  const DeviceTable& vk = context.vk();
  TUFF_ASSIGN(command_pool_, context.create_command_pool());
  TUFF_ASSIGN(fence_, context.create_fence());
  std::vector<const Step*> bound_steps;
  uint32_t descriptors = 0;
  for_each_step(program_->steps, [&](const Step& step, int) {
    if (step.kind != Step::Kind::kDispatch) return;
    uint32_t count = pipelines_[step.kernel]->num_descriptors;
    if (count > 0) bound_steps.push_back(&step);
    descriptors += count;
  });
  if (!bound_steps.empty()) {
    auto slots = static_cast<uint32_t>(slots_.size());
    VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, slots * descriptors};
    VkDescriptorPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                    .maxSets = slots * static_cast<uint32_t>(bound_steps.size()),
                                    .poolSizeCount = 1,
                                    .pPoolSizes = &size};
    TUFF_VK_RETURN_IF_ERROR(
        vk.CreateDescriptorPool(context.device(), &info, nullptr, &descriptor_pool_),
        "create a descriptor pool");
  }
  if (time_steps_ && !context.plan().timestamps) {
    SubmitLimits limits = submit_limits(context.caps());
    limits.most_steps = 1;
    timed_submits_ = plan_submits(program_->steps, context.caps(), limits);
  }
  for (Recording& slot : slots_) {
    for (const Step* step : bound_steps) {
      VkDescriptorSetAllocateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                       .descriptorPool = descriptor_pool_,
                                       .descriptorSetCount = 1,
                                       .pSetLayouts = &pipelines_[step->kernel]->set_layout};
      TUFF_VK_RETURN_IF_ERROR(vk.AllocateDescriptorSets(context.device(), &info, &slot.sets[step]),
                              "allocate a descriptor set");
    }
  }
  return {};
}

// Commands for each segment of its plan, and a clock where it is to be timed.
Status VulkanProgram::prepare_segments(Recording& recording) {
  Context& context = services_.context;
  const std::vector<Segment>& segments = plan_of(recording.timed).segments;
  while (recording.segments.size() < segments.size()) {
    RecordedSegment segment;
    TUFF_ASSIGN(segment.commands, context.allocate_command_buffer(command_pool_));
    recording.segments.push_back(std::move(segment));
  }
  if (!recording.timed || !context.plan().timestamps) return {};
  for (size_t i = 0; i < segments.size(); ++i) {
    if (recording.segments[i].clock != nullptr) continue;
    TUFF_ASSIGN(recording.segments[i].clock, StepClock::create(context, segments[i].size()));
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
  Run run{arguments, outputs, nullptr, start, {}};
  run.stats.time_steps = time_steps_ && stats != nullptr && stats->time_steps;
  double record_ms = 0;
  int64_t recorded_before = recordings_;
  if (!program_->steps.empty()) {
    TUFF_ASSIGN(run.recording, recording_for(arguments, outputs, run.stats.time_steps));
    if (recordings_ != recorded_before) record_ms = ms_since(start);
    for (const BufferPtr& output : outputs)
      if (output != nullptr) static_cast<const VulkanBuffer&>(*output).drop_mirror();
    TUFF_RETURN_IF_ERROR(run_tasks(plan_of(run.stats.time_steps).tasks, run));
    offer_mirror(*run.recording, outputs);
  }
  if (stats == nullptr) return {};
  stats->dispatches += run.stats.dispatches;
  stats->submits += run.stats.submits;
  stats->readbacks += run.stats.readbacks;
  stats->cpu_ops += run.stats.cpu_ops;
  stats->copied_bytes += run.stats.copied_bytes;
  stats->wall_ms += ms_since(start);
  stats->record_ms += record_ms;
  stats->wait_ms += run.stats.wait_ms;
  stats->readback_ms += run.stats.readback_ms;
  stats->clock_ms += run.stats.clock_ms;
  std::move(run.stats.steps.begin(), run.stats.steps.end(), std::back_inserter(stats->steps));
  return {};
}

// Submissions that follow each other are waited for once.
Status VulkanProgram::run_tasks(const std::vector<Task>& tasks, Run& run) {
  for (size_t i = 0; i < tasks.size(); ++i) {
    bool more = i + 1 < tasks.size() && tasks[i + 1].kind == Task::Kind::kSubmit;
    if (tasks[i].kind == Task::Kind::kSubmit)
      TUFF_RETURN_IF_ERROR(submit(tasks[i], !more, run));
    else
      TUFF_RETURN_IF_ERROR(run_task(tasks[i], run));
  }
  return {};
}

Status VulkanProgram::run_task(const Task& task, Run& run) {
  switch (task.kind) {
    case Task::Kind::kSubmit: return submit(task, true, run);
    case Task::Kind::kRepeat:
      for (int64_t i = 0; i < task.times; ++i) TUFF_RETURN_IF_ERROR(run_tasks(task.blocks[0], run));
      return {};
    case Task::Kind::kWhile:
      for (;;) {
        TUFF_ASSIGN(int64_t predicate, read_index(task.step->bindings[0], run));
        if (predicate == 0) return {};
        TUFF_RETURN_IF_ERROR(run_tasks(task.blocks[0], run));
      }
    case Task::Kind::kHost: {
      double start_us = run.now_us();
      TUFF_RETURN_IF_ERROR(run_hosted(*task.step, run));
      if (run.stats.time_steps) run.stats.steps.push_back({task.step, start_us, run.now_us()});
      return {};
    }
    case Task::Kind::kCase: {
      TUFF_ASSIGN(int64_t index, read_index(task.step->bindings[0], run));
      return run_tasks(task.blocks[chosen_branch(*task.step, index)], run);
    }
  }
  return {};
}

// A segment that runs again waits for itself: its commands may be under way only once.
Status VulkanProgram::submit(const Task& task, bool wait, Run& run) {
  const RecordedSegment& segment = run.recording->segments[task.segment];
  wait |= run.stats.time_steps;
  for (int64_t i = 0; i < task.times; ++i) {
    double start_us = run.now_us();
    bool last = i + 1 == task.times;
    Status status = last && !wait ? services_.context.submit(segment.commands, VK_NULL_HANDLE)
                                  : services_.context.submit_and_wait(segment.commands, fence_);
    if (!status.ok()) {
      services_.context.wait_idle();  // earlier ones may be under way
      return status;
    }
    if (run.stats.time_steps) TUFF_RETURN_IF_ERROR(time_submit(task, start_us, run));
  }
  const Segment& steps = plan_of(run.recording->timed).segments[task.segment];
  run.stats.submits += task.times;
  run.stats.dispatches +=
      task.times * std::count_if(steps.begin(), steps.end(), [](const Step* step) {
        return step->kind == Step::Kind::kDispatch && step->workgroups > 0;
      });
  return {};
}

// By the device's clock, or else by ours: then the segment is one step.
Status VulkanProgram::time_submit(const Task& task, double start_us, Run& run) const {
  double end_us = run.now_us();
  const RecordedSegment& segment = run.recording->segments[task.segment];
  if (timed_submits_) {
    run.stats.steps.push_back({timed_submits_->segments[task.segment][0], start_us, end_us});
    return {};
  }
  TUFF_ASSIGN(double steps_us, segment.clock->read(end_us, run.stats.steps));
  run.stats.wait_ms += 1e-3 * (end_us - start_us - steps_us);
  run.stats.clock_ms += 1e-3 * (run.now_us() - end_us);
  return {};
}

// A predicate or an index, as it lies on the device.
Result<int64_t> VulkanProgram::read_index(const Range& range, Run& run) {
  double start_us = run.now_us();
  Bound from = bound(range, run.arguments, run.outputs);
  std::array<std::byte, 4> bytes{};
  std::span<std::byte> data(bytes.data(), static_cast<size_t>(range.size_bytes));
  TUFF_RETURN_IF_ERROR(services_.transfer.read(*from.buffer, from.offset_bytes, data));
  ++run.stats.readbacks;
  run.stats.readback_ms += 1e-3 * (run.now_us() - start_us);
  int32_t index = 0;
  std::memcpy(&index, bytes.data(), sizeof index);
  return index;
}

}  // namespace tuff
