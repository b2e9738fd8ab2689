#include "backend/cpu/native/kernel_function.h"

#include <vector>

#include "backend/cpu/native/allocate.h"
#include "backend/cpu/native/encode.h"
#include "backend/cpu/native/kernel_code.h"

namespace tuff::cpu::native {

namespace {

// Of threads that may have small ones.
constexpr int64_t kMostStackBytes = 16 << 10;

}  // namespace

std::optional<KernelFunction> KernelFunction::compile(const Kernel& kernel,
                                                      std::span<const int32_t> params,
                                                      int vector_lanes) {
  if (!can_encode() || scratch_bytes(kernel) > kMostStackBytes) return std::nullopt;
  std::vector<MemoryPlace> buffers;
  for (size_t i = 0; i < kernel.buffers.size(); ++i)
    buffers.push_back({kFirstBase + static_cast<int64_t>(i), 0});
  MachineCode code(vector_lanes);
  code.stack_bytes = scratch_bytes(kernel);
  KnownMemory nothing;
  if (!KernelCode(code, kernel, params, buffers, {kStackBase, 0}, nothing).write_range())
    return std::nullopt;
  Allocation allocation = allocate_registers(code);
  KernelFunction function;
  function.memory_ = CodeMemory::holding(encode(code, allocation));
  if (function.memory_.data() == nullptr) return std::nullopt;
  return function;
}

void KernelFunction::run(std::byte* const* bases, int64_t first, int64_t last) const {
  NativeContext context{.bases = bases,
                        .first_point = static_cast<int32_t>(first),
                        .last_point = static_cast<int32_t>(last)};
  reinterpret_cast<NativeFunction>(memory_.data())(&context);
}

}  // namespace tuff::cpu::native
