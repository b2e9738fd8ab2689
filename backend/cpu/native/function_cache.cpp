#include "backend/cpu/native/function_cache.h"

namespace tuff::cpu::native {

bool FunctionCache::pays(double interpreted_ns, size_t instructions) const {
  // Measured: what makes the code of an instruction and of a kernel (.7 us of each in kernels of
  // thousands, 2 in short ones).
  constexpr double kInstructionNs = 1'500, kKernelNs = 80'000;
  if (!policy_.allowed) return false;
  double cost_ns = kKernelNs + kInstructionNs * static_cast<double>(instructions);
  return policy_.at_once || interpreted_ns >= cost_ns;
}

const KernelFunction* FunctionCache::find(const Kernel& kernel, std::span<const int32_t> params) {
  auto [it, fresh] = kept_.try_emplace({&kernel, {params.begin(), params.end()}});
  if (fresh) it->second = KernelFunction::compile(kernel, params, policy_.vector_lanes);
  return it->second ? &*it->second : nullptr;
}

}  // namespace tuff::cpu::native
