// What follows the sums of a product of bytes: a kernel over blocks of rows that are in a cache.
#pragma once

#include "backend/cpu/kernels/execute_kernel.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

class ByteStore {
 public:
  // The call, which has a store, and the functions outlive this.
  static Result<ByteStore> create(const ByteProductCall& call, const LaneTable& table,
                                  native::FunctionCache* functions);

  // Before a run's blocks.
  void begin_run();
  int64_t thread_bytes() const;

  struct Memory {
    std::byte* c;
    std::span<const CallOperand> inputs;
    std::byte* own;  // thread_bytes() of the thread's
  };
  // `rows` rows from `row` on of all batches, whose sums are at `sums`. From any thread.
  void run(const int32_t* sums, int64_t row, int64_t rows, const Memory& memory) const;

 private:
  ByteStore(const ByteProductCall& call, KernelProgram program, native::FunctionCache* functions)
      : call_(&call), program_(std::move(program)), functions_(functions) {}

  const ByteProductCall* call_;
  KernelProgram program_;
  native::FunctionCache* functions_;
  const native::KernelFunction* native_ = nullptr;
  double interpreted_ns_ = 0;
};

}  // namespace tuff::cpu
