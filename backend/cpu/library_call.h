// A matmul or convolution that a library does. Created at load, run many times;
// one run at a time.
#pragma once

#include <memory>
#include <span>

#include "ir/support/result.h"

namespace tuff::cpu {

// One tensor of a call. `version` names its contents (see CpuBuffer); 0: they may be
// others in every run.
struct CallOperand {
  std::byte* data = nullptr;
  uint64_t version = 0;
};

class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  // Operands A, B, C as in program.h, each starting at its binding.
  virtual Status run(std::span<const CallOperand, 3> operands) = 0;
};
using LibraryCallPtr = std::unique_ptr<LibraryCall>;

}  // namespace tuff::cpu
