// Executes a prepared kernel: its grid points in parallel, each lane loop
// block-wise. Results do not depend on the number of threads.
#pragma once

#include <memory>
#include <span>

#include "backend/cpu/kernels/kernel_program.h"
#include "backend/cpu/lanes/lane_interpreter.h"

namespace tuff::cpu {

// 64-byte aligned memory, or null when the machine has not that much.
struct FreeAligned {
  void operator()(std::byte* data) const;
};
using AlignedBytes = std::unique_ptr<std::byte[], FreeAligned>;
AlignedBytes allocate_aligned(int64_t size_bytes);
inline int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Working memory of all threads; sized once, so that runs allocate nothing. Serves
// one execution at a time.
class KernelScratch {
 public:
  // Enough for every program given to `reserve` so far, for max_threads().
  Status reserve(const KernelProgram& program);
  int threads() const { return threads_; }
  std::byte* thread(int index) const { return memory_.get() + index * stride_bytes_; }

 private:
  int threads_ = 0;
  int64_t stride_bytes_ = 0;
  AlignedBytes memory_;
};

// One buffer view per buffer of the kernel, aligned to its element; params as the
// kernel has. With `checked`, an index out of range is an error (kRunFailed);
// otherwise it is undefined behaviour.
Status execute_kernel(const KernelProgram& program, std::span<const int32_t> params,
                      std::span<const BufferView> buffers, const KernelScratch& scratch,
                      bool checked = false);

}  // namespace tuff::cpu
