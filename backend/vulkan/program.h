// A Program on a Vulkan device: pipelines, arena, constants, and the commands
// recorded for the buffers of the last two runs.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "backend/device.h"
#include "backend/executable.h"
#include "backend/vulkan/barriers.h"
#include "backend/vulkan/pipelines/pipeline.h"
#include "backend/vulkan/step_clock.h"
#include "backend/vulkan/submit_plan.h"
#include "backend/vulkan/transfer.h"

namespace tuff {

// What a program is loaded with; owned by the device.
struct ProgramServices {
  Context& context;
  MemoryPool& memory;
  Transfer& transfer;
  PipelineStore& pipelines;
  Device* host = nullptr;  // runs hosted steps
};

class VulkanProgram final : public LoadedProgram {
 public:
  // Errors: kUnsupported naming the limit; kOutOfMemory; kRunFailed.
  static Result<std::unique_ptr<VulkanProgram>> create(const ProgramServices& services,
                                                       std::shared_ptr<const Program> program,
                                                       const LoadOptions& options);
  // The same with the shaders given: one per kernel of the program.
  static Result<std::unique_ptr<VulkanProgram>> create(const ProgramServices& services,
                                                       std::shared_ptr<const Program> program,
                                                       const std::vector<GlslShader>& shaders,
                                                       const LoadOptions& options);
  ~VulkanProgram() override;

  const LoadStats& stats() const override { return stats_; }
  Status run(std::span<const BufferPtr> arguments, std::span<const BufferPtr> outputs,
             RunStats* stats);
  int64_t recordings() const { return recordings_; }  // how often commands were recorded

 private:
  struct RecordedSegment {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    std::unique_ptr<StepClock> clock;  // null: without timestamps
  };
  // Commands and descriptor sets for one choice of argument and output buffers.
  struct Recording {
    std::vector<uint64_t> buffer_ids;
    bool timed = false;
    uint64_t last_used = 0;                                 // 0 iff nothing is recorded
    std::vector<RecordedSegment> segments;                  // of its submit plan, maybe more
    std::unordered_map<const Step*, VkDescriptorSet> sets;  // of dispatches that bind buffers
    std::shared_ptr<VulkanBuffer> mirror;                   // of the outputs; may be null
  };
  using Buffers = std::span<const BufferPtr>;
  // One run: its buffers, its commands, what it counts.
  struct Run {
    Buffers arguments, outputs;
    const Recording* recording = nullptr;
    std::chrono::steady_clock::time_point start;
    RunStats stats;
    double now_us() const {
      return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
          .count();
    }
  };
  struct Bound {
    const VulkanBuffer* buffer;
    int64_t offset_bytes, size_bytes;                                        // in the buffer
    int64_t place() const { return buffer->offset_bytes() + offset_bytes; }  // in its handle
  };
  struct ConstantPlace {
    size_t buffer = 0;
    int64_t offset_bytes = 0;
  };

  VulkanProgram(const ProgramServices& services, std::shared_ptr<const Program> program)
      : services_(services),
        program_(std::move(program)),
        submits_(plan_submits(program_->steps, services.context.caps(),
                              submit_limits(services.context.caps()))) {}
  Status allocate_arena();
  Status place_constants();
  Status create_recordings();
  Status check_buffers(Buffers buffers, const std::vector<int64_t>& needed, const char* what) const;
  Result<Recording*> recording_for(Buffers arguments, Buffers outputs, bool timed);
  Bound bound(const Range& range, Buffers arguments, Buffers outputs) const;
  void write_descriptors(Recording& recording, Buffers arguments, Buffers outputs);
  // With mirrored: and the outputs' copies to the recording's mirror.
  Status record(const RecordedSegment& recorded, const Segment& segment, const Recording& recording,
                Buffers arguments, Buffers outputs, bool mirrored);
  void record_mirror(const RecordedSegment& recorded, const Recording& recording, Buffers outputs);
  Status create_mirror(Recording& recording, Buffers outputs);
  static void offer_mirror(const Recording& recording, Buffers outputs);
  static bool has_clock(const RecordedSegment& recorded, const Recording& recording) {
    return recording.timed && recorded.clock != nullptr;
  }
  Status prepare_segments(Recording& recording);
  std::vector<BarrierMasks> barriers_of(const Segment& segment, Buffers arguments,
                                        Buffers outputs) const;
  void record_dispatch(const RecordedSegment& recorded, const Step& step,
                       const Recording& recording, Buffers arguments, Buffers outputs);
  void record_copy(const RecordedSegment& recorded, const Step& step, const Recording& recording,
                   Buffers arguments, Buffers outputs);
  Status run_tasks(const std::vector<Task>& tasks, Run& run);
  Status run_task(const Task& task, Run& run);
  Status submit(const Task& task, bool wait, Run& run);
  Status time_submit(const Task& task, double start_us, Run& run) const;
  // How a run is submitted: a timed one step by step where the device has no clock.
  const SubmitPlan& plan_of(bool timed) const {
    return timed && timed_submits_ ? *timed_submits_ : submits_;
  }
  Result<int64_t> read_index(const Range& range, Run& run);
  Status load_hosted();
  Status run_hosted(const Step& step, Run& run);
  Result<Literal> take(const Range& range, const TensorType& type, Run& run);

  ProgramServices services_;
  std::shared_ptr<const Program> program_;
  SubmitPlan submits_;
  std::optional<SubmitPlan> timed_submits_;  // of timed runs, where they differ
  std::vector<PipelinePtr> pipelines_;
  std::unordered_map<const Step*, Executable> hosted_;
  LoadStats stats_;
  bool time_steps_ = false;
  int64_t segment_bytes_ = 0;
  std::vector<std::shared_ptr<VulkanBuffer>> arena_;  // by segment
  std::vector<std::shared_ptr<VulkanBuffer>> constants_;
  std::vector<ConstantPlace> constant_places_;
  std::vector<int64_t> argument_bytes_, output_bytes_;  // least sizes; 0: not bound

  std::mutex mutex_;  // one run at a time
  VkCommandPool command_pool_ = VK_NULL_HANDLE;
  VkDescriptorPool descriptor_pool_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  // Two, for callers that swap two sets of buffers (donation), or time some of their runs.
  std::array<Recording, 2> slots_;
  std::vector<uint64_t> wanted_ids_;  // of the run that looks for its recording
  uint64_t clock_ = 0;
  int64_t recordings_ = 0;
};

}  // namespace tuff
