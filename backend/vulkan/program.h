// A Program on a Vulkan device: pipelines, arena, constants, and the commands
// recorded for the buffers of the last two runs.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backend/device.h"
#include "backend/vulkan/pipeline.h"
#include "backend/vulkan/step_clock.h"
#include "backend/vulkan/transfer.h"

namespace tuff {

// What a program is loaded with; owned by the device.
struct ProgramServices {
  Context& context;
  MemoryPool& memory;
  Transfer& transfer;
  PipelineStore& pipelines;
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
  // Commands and descriptor sets for one choice of argument and output buffers.
  struct Recording {
    std::vector<uint64_t> buffer_ids;  // empty iff nothing is recorded
    uint64_t last_used = 0;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    std::vector<VkDescriptorSet> sets;  // one per step; null where it binds nothing
    std::unique_ptr<StepClock> clock;   // null: steps are not timed
  };
  struct Bound {
    const VulkanBuffer* buffer;
    int64_t offset_bytes, size_bytes;
  };
  struct ConstantPlace {
    size_t buffer = 0;
    int64_t offset_bytes = 0;
  };
  using Buffers = std::span<const BufferPtr>;

  VulkanProgram(const ProgramServices& services, std::shared_ptr<const Program> program)
      : services_(services), program_(std::move(program)) {}
  Status place_constants();
  Status create_recordings(bool time_steps);
  Status check_buffers(Buffers buffers, const std::vector<int64_t>& needed, const char* what) const;
  Result<Recording*> recording_for(Buffers arguments, Buffers outputs);
  Bound bound(const Range& range, Buffers arguments, Buffers outputs) const;
  void write_descriptors(Recording& recording, Buffers arguments, Buffers outputs);
  Status record(Recording& recording, Buffers arguments, Buffers outputs);
  void record_step(VkCommandBuffer commands, size_t step, const Recording& recording,
                   Buffers arguments, Buffers outputs);

  ProgramServices services_;
  std::shared_ptr<const Program> program_;
  std::vector<PipelinePtr> pipelines_;
  LoadStats stats_;
  std::shared_ptr<VulkanBuffer> arena_;
  std::vector<std::shared_ptr<VulkanBuffer>> constants_;
  std::vector<ConstantPlace> constant_places_;
  std::vector<int64_t> argument_bytes_, output_bytes_;  // least sizes; 0: not bound

  std::mutex mutex_;  // one run at a time
  VkCommandPool command_pool_ = VK_NULL_HANDLE;
  VkDescriptorPool descriptor_pool_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  // Two, for callers that swap two sets of buffers (donation).
  std::array<Recording, 2> slots_;
  uint64_t clock_ = 0;
  int64_t recordings_ = 0;
};

}  // namespace tuff
