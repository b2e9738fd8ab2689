// A Program prepared for the CPU.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "backend/cpu/cpu_buffer.h"
#include "backend/cpu/derived_operand.h"
#include "backend/cpu/device.h"
#include "backend/cpu/kernels/execute_kernel.h"
#include "backend/cpu/library_call.h"
#include "backend/cpu/native/loop_code.h"

namespace tuff::cpu {

// By the step that calls.
using LibraryCalls = std::unordered_map<const Step*, LibraryCallPtr>;
// The calls of a program, which is to outlive them. functions: as for choose_call. Errors: those of
// that.
Result<LibraryCalls> choose_calls(const Program& program, const LaneTable& table,
                                  DerivedOwner& owner, native::FunctionCache* functions = nullptr);

class CpuLoadedProgram : public LoadedProgram {
 public:
  CpuLoadedProgram(DerivedOwner& owner, const native::NativePolicy& native)
      : owner_(owner), native_(native), functions_(native) {}
  ~CpuLoadedProgram() override;
  // Errors: kUnsupported, kOutOfMemory, or kRunFailed for a program that contradicts
  // itself.
  static Result<std::unique_ptr<CpuLoadedProgram>> create(std::shared_ptr<const Program> program,
                                                          const LaneTable& table,
                                                          DerivedOwner& owner,
                                                          const CpuDeviceOptions& device,
                                                          const native::NativePolicy& native,
                                                          const LoadOptions& options);

  const LoadStats& stats() const override { return stats_; }
  Status run(std::span<const BufferPtr> arguments, std::span<const BufferPtr> outputs,
             RunStats* stats);

 private:
  void promise_memory();
  Status place_constants();
  Status check_buffers(std::span<const BufferPtr> buffers, const std::vector<TensorType>& types,
                       const char* what, bool written) const;
  // The buffers of one run, and what it counts.
  struct Run {
    std::span<const BufferPtr> arguments, outputs;
    int64_t dispatches = 0;
    Timeline::Clock::time_point start;
    bool timed = false;
    bool has_bases = false;  // bases_ are those of this run
    std::vector<StepTime> times;
  };
  // Of a loop that runs often enough, or of a kernel that is one.
  struct NativeLoop {
    int64_t rounds = 0;  // interpreted so far
    bool tried = false;
    std::optional<native::LoopCode> code;
  };
  Status run_steps(const Steps& steps, Run& run);
  Status run_step(const Step& step, Run& run);
  Status run_while(const Step& step, Run& run);
  Status run_case(const Step& step, Run& run);
  bool has_native(const Step& step, NativeLoop& loop);
  Status run_native(const NativeLoop& loop, int64_t rounds, Run& run);
  void find_bases(Run& run);
  Status run_copy(const Step& step, const Run& run);
  Status run_kernel_or_call(const Step& step, Run& run);
  BufferView view(const Range& range, const Run& run) const;
  uint64_t version(const Range& range, const Run& run) const;
  int64_t index_at(const Range& range, const Run& run) const;

  DerivedOwner& owner_;
  native::NativePolicy native_;
  int64_t promised_bytes_ = 0;  // see DerivedOwner::promise
  std::shared_ptr<const Program> program_;
  std::vector<KernelProgram> kernels_;
  LibraryCalls calls_;
  // By the step that dispatches, once it has run.
  std::unordered_map<const Step*, BoundKernel> bound_;
  native::FunctionCache functions_;
  std::unordered_map<const Step*, NativeLoop> loops_;
  std::vector<std::byte*> bases_;  // see native::LoopCode
  AlignedBytes native_scratch_;
  int64_t native_scratch_bytes_ = 0;
  std::vector<bool> is_loop_;  // by kernel
  HostAllocatorPtr allocator_;
  TensorBytes arena_;
  std::vector<const std::byte*> constants_;
  std::vector<TensorBytes> constant_copies_;
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
