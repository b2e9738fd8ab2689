// Executes a prepared kernel: its grid points in parallel, each lane loop
// block-wise or as native code. Results do not depend on the number of threads.
#pragma once

#include <span>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/kernels/kernel_program.h"
#include "backend/cpu/lanes/lane_interpreter.h"
#include "backend/cpu/native/function_cache.h"

namespace tuff::cpu {

// Working memory of all threads; sized once, so that runs allocate nothing. Serves
// one execution at a time.
class KernelScratch {
 public:
  // Enough for every program given to `reserve` so far, for max_threads().
  Status reserve(const KernelProgram& program);
  int threads() const { return threads_; }
  // A thread's, for an interpreter's slots and for its lanes and arrays.
  std::byte* slots(int index) const { return memory_.get() + index * stride_bytes_; }
  std::byte* thread(int index) const { return slots(index) + slot_bytes_; }

 private:
  int threads_ = 0;
  int64_t slot_bytes_ = 0, kernel_bytes_ = 0;  // the most that one of the kernels takes
  int64_t stride_bytes_ = 0;
  AlignedBytes memory_;
};

// Whether a second thread would cost more than it brings; `native`: to native code.
bool is_small_kernel(const KernelProgram& program, std::span<const int32_t> params, bool native);

// Roughly what a run of it takes, interpreted by one thread.
double estimated_ns(const KernelProgram& program, std::span<const int32_t> params);

// Where a kernel's native code comes from; by default there is none.
struct NativeSource {
  native::FunctionCache* functions = nullptr;
  const Kernel* kernel = nullptr;
};

// A kernel with its parameters, for many runs: what they have in common is found out once. All that
// is given outlives it, and is not changed; the scratch memory has room for the kernel.
class BoundKernel {
 public:
  // It is native code once that pays, where `source` has any.
  BoundKernel(const KernelProgram& program, std::span<const int32_t> params,
              const KernelScratch& scratch, bool checked, const NativeSource& source = {});
  // As execute_kernel.
  Status run(std::span<const BufferView> buffers);

 private:
  bool has_native();
  void run_native(std::span<const BufferView> buffers);

  const KernelProgram& program_;
  std::span<const int32_t> params_;
  const KernelScratch& scratch_;
  bool checked_;
  NativeSource source_;
  int64_t points_ = 1;
  bool parallel_ = false;
  double run_ns_ = 0, interpreted_ns_ = 0;  // of a run, and of all so far, as far as is known
  const native::KernelFunction* native_ = nullptr;
  std::vector<std::byte*> bases_;  // see KernelFunction
  // Of one that a single thread runs: made ready in the first run, as it was left later.
  std::unique_ptr<std::byte[]> slots_;
  std::unique_ptr<LaneInterpreter> own_;
};

// One buffer view per buffer of the kernel, aligned to its element; params as the
// kernel has. With `checked`, an index out of range is an error (kRunFailed);
// otherwise it is undefined behaviour.
Status execute_kernel(const KernelProgram& program, std::span<const int32_t> params,
                      std::span<const BufferView> buffers, const KernelScratch& scratch,
                      bool checked = false);

}  // namespace tuff::cpu
