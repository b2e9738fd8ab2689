// Kernels as native code, each made once for its parameters, when that pays.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/cpu/native/kernel_function.h"

namespace tuff::cpu::native {

// When code is made, and for which processor.
struct NativePolicy {
  bool allowed = false;
  bool at_once = false;  // or when what is run often enough pays it back
  // Rounds of a loop before it becomes native code.
  int64_t interpreted_rounds = 0;
  int vector_lanes = 8;  // see MachineCode
};

class FunctionCache {
 public:
  explicit FunctionCache(const NativePolicy& policy) : policy_(policy) {}

  // Whether to make code of a kernel of so many instructions that has been interpreted for so long:
  // for as long as making it takes, so that a few runs lose little and many gain.
  bool pays(double interpreted_ns, size_t instructions) const;
  // Null: there is no code for it. The kernel outlives this.
  const KernelFunction* find(const Kernel& kernel, std::span<const int32_t> params);

 private:
  NativePolicy policy_;
  std::map<std::pair<const Kernel*, std::vector<int32_t>>, std::optional<KernelFunction>> kept_;
};

}  // namespace tuff::cpu::native
