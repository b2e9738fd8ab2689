#include "ir/passes/recognize_powers.h"

namespace tuff {

std::optional<Value> recognize_inverse_root(const RewriteSite& site) {
  if (site.node.op != Op::kDivide) return std::nullopt;
  const Literal* one = splat_value(site.out, site.node.operands[0]);
  const Node& root = site.operand(1);
  if (root.op != Op::kSqrt || !one || is_complex(one->type().dtype) || one->get_double(0) != 1)
    return std::nullopt;
  return site.add(Op::kRsqrt, {root.operands[0]}, site.node.types[0]);
}

std::optional<Value> recognize_power(const RewriteSite& site) {
  if (site.node.op != Op::kPower) return std::nullopt;
  const TensorType& type = site.node.types[0];
  const Literal* exponent = splat_value(site.out, site.node.operands[1]);
  if (!exponent || is_complex(type.dtype)) return std::nullopt;
  const double n = exponent->get_double(0);
  const Value x = site.node.operands[0];
  if (n == 1) return x;
  if (n == -1 && is_float(type.dtype)) return site.add(Op::kDivide, {site.splat(type, 1), x}, type);
  // A cube is rounded twice, which narrow floats are too coarse for.
  const bool cube = n == 3 && (!is_float(type.dtype) || dtype_size(type.dtype) >= 4);
  if (n != 2 && !cube) return std::nullopt;
  Value square = site.add(Op::kMultiply, {x, x}, type);
  return cube ? site.add(Op::kMultiply, {square, x}, type) : square;
}

}  // namespace tuff
