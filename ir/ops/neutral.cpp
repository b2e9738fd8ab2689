#include "ir/ops/neutral.h"

#include <limits>

namespace tuff {

Literal extreme_value(DType dtype, bool greatest) {
  Literal value = Literal::scalar(dtype, 0);
  double infinity = std::numeric_limits<double>::infinity();
  if (is_float(dtype)) {
    value.set_double(0, greatest ? infinity : -infinity);
  } else if (dtype == DType::kBool) {
    value.set_int(0, greatest);
  } else {
    int bits = static_cast<int>(8 * dtype_size(dtype));
    uint64_t ones = ~uint64_t{0} >> (64 - bits);
    uint64_t top = is_signed_int(dtype) ? ones >> 1 : ones;
    value.set_int(0, static_cast<int64_t>(greatest ? top : is_signed_int(dtype) ? ~top : 0));
  }
  return value;
}

std::optional<Literal> neutral_value(Op op, DType dtype) {
  auto number = [dtype](int64_t value) {
    Literal literal = Literal::scalar(dtype, 0);
    is_float(dtype) ? literal.set_double(0, static_cast<double>(value)) : literal.set_int(0, value);
    return literal;
  };
  switch (op) {
    case Op::kAdd: return is_float(dtype) ? Literal::scalar(dtype, -0.0) : number(0);
    case Op::kMultiply: return number(1);
    case Op::kMaximum: return extreme_value(dtype, false);
    case Op::kMinimum: return extreme_value(dtype, true);
    case Op::kOr:
    case Op::kXor: return number(0);
    case Op::kAnd: return number(dtype == DType::kBool ? 1 : -1);
    default: return std::nullopt;
  }
}

std::optional<Op> single_op(const Graph& body) {
  if (body.num_parameters() != 2 || body.outputs().size() != 1) return std::nullopt;
  const Node& node = body.node(body.outputs()[0]);
  if (body.nodes().size() != 3 || node.operands.size() != 2 ||
      node.operands[0].node == node.operands[1].node)
    return std::nullopt;
  return node.op;
}

}  // namespace tuff
