// A Program prepared for the CPU.
#pragma once

#include <mutex>
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
  Status create_calls();
  Status place_constants();
  Status check_buffers(std::span<const BufferPtr> buffers, const std::vector<TensorType>& types,
                       const char* what, bool written) const;
  Status run_step(size_t index, std::span<const BufferPtr> arguments,
                  std::span<const BufferPtr> outputs);
  BufferView view(const Range& range, std::span<const BufferPtr> arguments,
                  std::span<const BufferPtr> outputs) const;
  uint64_t version(const Range& range, std::span<const BufferPtr> arguments) const;

  std::shared_ptr<const Program> program_;
  std::vector<KernelProgram> kernels_;
  std::vector<LibraryCallPtr> calls_;  // by step; null for dispatches
  AlignedBytes arena_;
  std::vector<const std::byte*> constants_;
  std::vector<AlignedBytes> constant_copies_;
  uint64_t constants_version_ = 0;
  KernelScratch scratch_;
  std::vector<BufferView> views_;  // of the step that runs
  LoadStats stats_;
  bool checked_ = false;
  bool time_steps_ = false;
  std::mutex running_;
};

}  // namespace tuff::cpu
