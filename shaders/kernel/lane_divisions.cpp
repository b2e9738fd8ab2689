#include "shaders/kernel/lane_divisions.h"

#include <bit>
#include <numeric>

#include "shaders/kernel/kernel_walk.h"

namespace tuff {

namespace {

constexpr int64_t kMostTogether = 7;

int64_t known_value(const Operand& operand, std::span<const int32_t> params) {
  if (operand.kind == Operand::Kind::kValue) return 0;
  return operand.kind == Operand::Kind::kParam ? params[operand.id]
                                               : static_cast<int32_t>(operand.bits);
}

void add(const Block& block, bool in_lanes, std::span<const int32_t> params,
         LaneDivisions& divisions) {
  for (const Stmt& stmt : block) {
    if (in_lanes && stmt.kind == Stmt::Kind::kCompute && stmt.op == Op::kIndexDiv) {
      const int64_t divisor = known_value(stmt.operands[1], params);
      const int64_t odd = divisor <= 0 ? 0 : divisor >> std::countr_zero(uint64_t(divisor));
      divisions.together = std::lcm(divisions.together, odd);
      if (divisions.together > kMostTogether) divisions.together = 0;
      ++divisions.count;
    }
    add(stmt.body, in_lanes || stmt.kind == Stmt::Kind::kLane, params, divisions);
  }
}

}  // namespace

LaneDivisions lane_divisions(const Kernel& kernel, std::span<const int32_t> params) {
  LaneDivisions divisions;
  add(kernel.body, false, params, divisions);
  return divisions;
}

}  // namespace tuff
