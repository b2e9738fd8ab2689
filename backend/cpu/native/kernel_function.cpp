#include "backend/cpu/native/kernel_function.h"

#include <algorithm>
#include <vector>

#include "backend/cpu/native/allocate.h"
#include "backend/cpu/native/encode.h"
#include "backend/cpu/native/kernel_code.h"
#include "backend/cpu/native/lanes_inside.h"

namespace tuff::cpu::native {

namespace {

// Of threads that may have small ones.
constexpr int64_t kMostStackBytes = 16 << 10;

// Steps of a loop; 1 << 30 where they are known only as it runs.
int64_t steps_of(const Stmt& loop, std::span<const int32_t> params) {
  constexpr int64_t kUnknown = 1 << 30;
  if (loop.kind != Stmt::Kind::kSerial) return kUnknown;
  const Operand& steps = loop.operands[0];
  if (steps.kind == Operand::Kind::kValue) return kUnknown;
  return steps.kind == Operand::Kind::kParam ? params[steps.id] : static_cast<int32_t>(steps.bits);
}

// Lanes that each walk a long way. Code takes one vector of lanes through all of it after another,
// the interpreter all lanes one step after another, and so memory in its order. That is nothing
// for a few steps, nor where all that a point walks over lies in a cache.
bool walks_far(const Block& body, int64_t lanes, std::span<const int32_t> params, bool in_lanes) {
  constexpr int64_t kFewSteps = 8, kCachedElements = 1 << 13;
  for (const Stmt& stmt : body) {
    const bool loops = stmt.kind == Stmt::Kind::kSerial || stmt.kind == Stmt::Kind::kWhile;
    int64_t inside = lanes;
    if (in_lanes && loops) {
      const int64_t steps = steps_of(stmt, params);
      inside = std::min(lanes * std::max<int64_t>(steps, 1), 2 * kCachedElements);
      if (steps > kFewSteps && inside > kCachedElements) return true;
    }
    if (walks_far(stmt.body, inside, params, in_lanes || stmt.kind == Stmt::Kind::kLane))
      return true;
  }
  return false;
}

}  // namespace

std::optional<KernelFunction> KernelFunction::compile(const Kernel& kernel,
                                                      std::span<const int32_t> params,
                                                      int vector_lanes) {
  if (!can_encode() || scratch_bytes(kernel) > kMostStackBytes) return std::nullopt;
  if (!kernel.arrays.empty() && walks_far(kernel.body, kernel.lanes, params, false)) {
    const std::optional<Kernel> turned = with_lanes_inside(kernel);
    if (!turned || walks_far(turned->body, kernel.lanes, params, false)) return std::nullopt;
    return compile(*turned, params, vector_lanes);
  }
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
  if (function.memory_.empty()) return std::nullopt;
  return function;
}

void KernelFunction::run(std::byte* const* bases, int64_t first, int64_t last) const {
  NativeContext context{.bases = bases,
                        .first_point = static_cast<int32_t>(first),
                        .last_point = static_cast<int32_t>(last)};
  memory_.function<NativeFunction>()(&context);
}

}  // namespace tuff::cpu::native
