#include "shaders/emit/emit_glsl_fold.h"

#include <algorithm>

namespace tuff {

namespace {

bool is_immediate(const Operand& operand) { return operand.kind == Operand::Kind::kImmediate; }
int32_t int_of(const Operand& operand) { return static_cast<int32_t>(operand.bits); }
bool is_int(const Operand& operand, int32_t value) {
  return is_immediate(operand) && int_of(operand) == value;
}

// int64 holds every result before it wraps; x / 0 and x % 0 are left to the device.
std::optional<Operand> fold_i32(Op op, int64_t a, int64_t b) {
  switch (op) {
    case Op::kAdd: return Operand::i32(a + b);
    case Op::kSubtract: return Operand::i32(a - b);
    case Op::kMultiply: return Operand::i32(a * b);
    case Op::kDivide:
    case Op::kIndexDiv:
      if (b == 0) return std::nullopt;
      return Operand::i32(a / b);
    case Op::kRemainder:
      if (b == 0) return std::nullopt;
      return Operand::i32(a % b);
    case Op::kMinimum: return Operand::i32(std::min(a, b));
    case Op::kMaximum: return Operand::i32(std::max(a, b));
    case Op::kEq: return Operand::boolean(a == b);
    case Op::kNe: return Operand::boolean(a != b);
    case Op::kLt: return Operand::boolean(a < b);
    case Op::kLe: return Operand::boolean(a <= b);
    case Op::kGt: return Operand::boolean(a > b);
    case Op::kGe: return Operand::boolean(a >= b);
    default: return std::nullopt;
  }
}

std::optional<Operand> fold_i32_identity(Op op, const Operand& a, const Operand& b) {
  switch (op) {
    case Op::kAdd:
      if (is_int(a, 0)) return b;
      if (is_int(b, 0)) return a;
      return std::nullopt;
    case Op::kSubtract:
      if (is_int(b, 0)) return a;
      return std::nullopt;
    case Op::kMultiply:
      if (is_int(a, 0) || is_int(b, 0)) return Operand::i32(0);
      if (is_int(a, 1)) return b;
      if (is_int(b, 1)) return a;
      return std::nullopt;
    case Op::kDivide:
    case Op::kIndexDiv:
      if (is_int(b, 1)) return a;
      return std::nullopt;
    case Op::kRemainder:
      if (is_int(b, 1)) return Operand::i32(0);
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<Operand> fold_bool(Op op, const Operand& a, const Operand& b) {
  const Operand& known = is_immediate(a) ? a : b;
  const Operand& other = is_immediate(a) ? b : a;
  if (!is_immediate(known)) return std::nullopt;
  bool value = known.bits != 0;
  if (op == Op::kAnd) return value ? other : known;
  if (op == Op::kOr) return value ? known : other;
  return std::nullopt;
}

}  // namespace

std::optional<Operand> fold_compute(const Stmt& stmt, const std::vector<Operand>& operands) {
  if (stmt.op == Op::kSelect && is_immediate(operands[0]))
    return operands[0].bits != 0 ? operands[1] : operands[2];
  if (operands.empty()) return std::nullopt;
  if (operands.size() == 1) {
    if (stmt.op != Op::kNot || stmt.dtype != DType::kBool || !is_immediate(operands[0]))
      return std::nullopt;
    return Operand::boolean(operands[0].bits == 0);
  }
  if (operands.size() != 2) return std::nullopt;
  const Operand &a = operands[0], &b = operands[1];
  if (a.dtype == DType::kBool) return fold_bool(stmt.op, a, b);
  if (a.dtype != DType::kI32) return std::nullopt;
  if (is_immediate(a) && is_immediate(b)) return fold_i32(stmt.op, int_of(a), int_of(b));
  return fold_i32_identity(stmt.op, a, b);
}

}  // namespace tuff
