// Work that a library, or C++ of our own, does in one piece. Created at load, run many times;
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
  // Operands as shaders/library_call.h names them, each starting at its binding.
  virtual Status run(std::span<const CallOperand> operands) = 0;
};
using LibraryCallPtr = std::unique_ptr<LibraryCall>;

}  // namespace tuff::cpu
