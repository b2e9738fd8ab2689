// A Program prepared for the CPU.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "backend/cpu/cpu_buffer.h"
#include "backend/cpu/library_call.h"

namespace tuff::cpu {

class CpuLoadedProgram : public LoadedProgram {
 public:
  // Errors: kUnsupported, kOutOfMemory, or kRunFailed for a program that contradicts
  // itself.
  static Result<std::unique_ptr<CpuLoadedProgram>> create(std::shared_ptr<const Program> program,
                                                          const LaneTable& table, bool checked,
                                                          const LoadOptions& options);

  const LoadStats& stats() const override { return stats_; }
  Status run(std::span<const BufferPtr> arguments, std::span<const BufferPtr> outputs,
             RunStats* stats);

 private:
  Status create_calls(const LaneTable& table);
  Status place_constants();
  Status check_buffers(std::span<const BufferPtr> buffers, const std::vector<TensorType>& types,
                       const char* what, bool written) const;
  // The buffers of one run, and what it counts.
  struct Run {
    std::span<const BufferPtr> arguments, outputs;
    int64_t dispatches = 0;
    Timeline::Clock::time_point start;
    bool timed = false;
    std::vector<StepTime> times;
  };
  Status run_steps(const Steps& steps, Run& run);
  Status run_step(const Step& step, Run& run);
  Status run_while(const Step& step, Run& run);
  Status run_case(const Step& step, Run& run);
  Status run_copy(const Step& step, const Run& run);
  Status run_kernel_or_call(const Step& step, Run& run);
  BufferView view(const Range& range, const Run& run) const;
  uint64_t version(const Range& range, const Run& run) const;
  int64_t index_at(const Range& range, const Run& run) const;

  std::shared_ptr<const Program> program_;
  std::vector<KernelProgram> kernels_;
  std::unordered_map<const Step*, LibraryCallPtr> calls_;
  AlignedBytes arena_;
  std::vector<const std::byte*> constants_;
  std::vector<AlignedBytes> constant_copies_;
  uint64_t constants_version_ = 0;
  KernelScratch scratch_;
  std::vector<BufferView> views_;      // of the step that runs
  std::vector<CallOperand> operands_;  // the same for a call
  LoadStats stats_;
  bool checked_ = false;
  bool time_steps_ = false;
  std::mutex running_;
};

}  // namespace tuff::cpu
