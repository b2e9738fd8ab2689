#include "backend/cpu/native/kernel_function.h"

#include <vector>

#include "backend/cpu/native/allocate.h"
#include "backend/cpu/native/encode.h"
#include "backend/cpu/native/kernel_code.h"

namespace tuff::cpu::native {

namespace {

// Of threads that may have small ones.
constexpr int64_t kMostStackBytes = 16 << 10;

// Lanes that each walk a long way. Code takes one vector of lanes through all of it after another,
// the interpreter all lanes one step after another, and so memory in its order.
bool walks_far(const Block& body, bool in_lanes) {
  constexpr uint64_t kFewSteps = 8;
  for (const Stmt& stmt : body) {
    const bool loops = stmt.kind == Stmt::Kind::kSerial || stmt.kind == Stmt::Kind::kWhile;
    const bool few = stmt.kind == Stmt::Kind::kSerial &&
                     stmt.operands[0].kind == Operand::Kind::kImmediate &&
                     stmt.operands[0].bits <= kFewSteps;
    if (in_lanes && loops && !few) return true;
    if (walks_far(stmt.body, in_lanes || stmt.kind == Stmt::Kind::kLane)) return true;
  }
  return false;
}

}  // namespace

std::optional<KernelFunction> KernelFunction::compile(const Kernel& kernel,
                                                      std::span<const int32_t> params,
                                                      int vector_lanes) {
  if (!can_encode() || scratch_bytes(kernel) > kMostStackBytes) return std::nullopt;
  if (!kernel.arrays.empty() && walks_far(kernel.body, false)) return std::nullopt;
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
