// A kernel with its parameters as a native function that runs some points of its grid.
#pragma once

#include <optional>
#include <span>

#include "backend/cpu/native/code_memory.h"
#include "backend/cpu/native/native_context.h"
#include "shaders/kernel/kernel.h"

namespace tuff::cpu::native {

class KernelFunction {
 public:
  // Nothing where the kernel has something that there is no code for, or the build or the system
  // have no native code.
  static std::optional<KernelFunction> compile(const Kernel& kernel,
                                               std::span<const int32_t> params, int vector_lanes);

  // Points from `first` to before `last`, the innermost grid loop's fastest; at most 2^31 - 1.
  // `bases` has the kernel's buffers from kFirstBase on.
  void run(std::byte* const* bases, int64_t first, int64_t last) const;

 private:
  CodeMemory memory_;
};

}  // namespace tuff::cpu::native
