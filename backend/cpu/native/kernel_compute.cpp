// What statements compute of values. Those of narrow types are held in 32 bits: a number of the
// type each, an f16 or bf16 as the f32 that it is.
#include "backend/cpu/native/kernel_code.h"

namespace tuff::cpu::native {

namespace {

// Whether what the op gives of numbers of a narrow type is one.
bool keeps_type(Op op) {
  switch (op) {
    case Op::kSelect:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor: return true;
    default: return false;
  }
}

}  // namespace

std::optional<LaneValue> KernelCode::compute(const Stmt& stmt) {
  std::vector<LaneValue> operands;
  for (const Operand& each : stmt.operands) {
    std::optional<LaneValue> value = operand(each);
    if (!value) return std::nullopt;
    operands.push_back(*value);
  }
  if (stmt.op == Op::kIndexDiv) return lanes_.divide_index(operands[0], operands[1]);
  TypeRule rule = op_info(stmt.op).type_rule;
  DType dtype = rule == TypeRule::kSelect ? stmt.dtype : stmt.operands[0].dtype;
  if (!kind_of(dtype) || !kind_of(stmt.dtype)) return std::nullopt;
  if (rule == TypeRule::kTotalOrder && is_narrow(dtype)) return std::nullopt;
  if (kind_of(dtype) == Kind::kFloat && (stmt.op == Op::kMaximum || stmt.op == Op::kMinimum))
    return lanes_.extreme(stmt.op == Op::kMaximum, operands[0], operands[1]);
  if (stmt.op == Op::kMaximum || stmt.op == Op::kMinimum)
    if (std::optional<LaneValue> value =
            lanes_.extreme_integer(stmt.op == Op::kMaximum, operands[0], operands[1]))
      return value;
  if (stmt.op == Op::kDivide && kind_of(dtype) == Kind::kSigned)
    if (std::optional<LaneValue> value = lanes_.divide_signed(operands[0], operands[1]))
      return narrowed(stmt.dtype, *value);
  const BodyGraph* graph = body_graph(stmt.op, dtype);
  if (graph == nullptr) return std::nullopt;
  std::optional<LaneValue> value = lanes_.apply(*graph, operands);
  return value && !keeps_type(stmt.op) ? narrowed(stmt.dtype, *value) : value;
}

std::optional<LaneValue> KernelCode::convert(const Stmt& stmt) {
  std::optional<LaneValue> value = operand(stmt.operands[0]);
  DType from = stmt.operands[0].dtype, to = stmt.dtype;
  if (!value || !kind_of(from) || !kind_of(to)) return std::nullopt;
  bool to_half = is_float(to) && is_narrow(to);
  // Numbers of more than 24 bits would round twice.
  if (to_half && is_integer(from) && !is_narrow(from)) return std::nullopt;
  if (is_float(from)) from = DType::kF32;
  if (is_float(from) && is_integer(to) && is_narrow(to)) {
    const int bits = static_cast<int>(8 * dtype_size(to));
    const bool has_sign = is_signed_int(to);
    const int32_t most = (1 << (has_sign ? bits - 1 : bits)) - 1;
    return narrowed(to,
                    lanes_.bounded_integer(*kind_of(to), *value, has_sign ? -most - 1 : 0, most));
  }
  if (is_integer(from) && is_narrow(from)) {  // A number of 32 bits with a sign as well.
    from = DType::kI32;
    value->kind = Kind::kSigned;
  }
  DType between = to_half ? DType::kF32 : to;
  if (from != between) {
    const BodyGraph* graph = convert_graph(from, between);
    value = graph != nullptr ? lanes_.apply(*graph, {*value}) : std::nullopt;
  }
  return value && is_narrow(to) ? narrowed(to, *value) : value;
}

std::optional<LaneValue> KernelCode::narrowed(DType dtype, const LaneValue& value) {
  if (!is_narrow(dtype)) return value;
  if (!code_.is_wide()) return std::nullopt;
  if (is_float(dtype)) {
    Reg from = lanes_.vector_of(value);
    Reg out = dtype == DType::kF16 ? lanes_.emit(Code::kRoundToHalf, from) : rounded_to_bf16(from);
    if (dtype == DType::kF16) rounded_from_[out] = from;
    return lanes_.vector(Kind::kFloat, out, lanes_.uniform(value));
  }
  auto number = [&](uint32_t bits) { return LaneValues::known(value.kind, bits); };
  auto bits = static_cast<uint32_t>(8 * dtype_size(dtype));
  if (value.kind == Kind::kUnsigned)
    return lanes_.apply(Prim::kAnd, value.kind, value, number((1u << bits) - 1));
  std::optional<LaneValue> high =
      lanes_.apply(Prim::kShiftLeft, value.kind, value, number(32 - bits));
  if (!high) return std::nullopt;
  return lanes_.apply(Prim::kShiftRightSigned, value.kind, *high, number(32 - bits));
}

// To nearest even; NaNs stay, as quiet ones.
Reg KernelCode::rounded_to_bf16(Reg value) {
  Reg odd = lanes_.emit(Code::kAnd, lanes_.emit(Code::kShiftRight, value, lanes_.constant(16)),
                        lanes_.constant(1));
  Reg sum = lanes_.emit(Code::kAdd, lanes_.emit(Code::kAdd, value, lanes_.constant(0x7fff)), odd);
  Reg nan = lanes_.emit(Code::kOr, value, lanes_.constant(0x00400000u));
  Reg is_nan = lanes_.emit(Code::kCompareF, value, value, kNone, kUnorderedPredicate);
  return lanes_.emit(Code::kAnd, lanes_.emit(Code::kBlend, nan, sum, is_nan),
                     lanes_.constant(0xffff0000u));
}

}  // namespace tuff::cpu::native
