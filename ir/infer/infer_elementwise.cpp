// Elementwise ops: op.def's type rules.
#include "ir/infer/infer_rules.h"
#include "ir/text/print.h"

namespace tuff::infer {

namespace {

Status check_defined(const Node& node, DType dtype) {
  if (op_info(node.op).kernel_only) return invalid("The operation exists in kernels only.");
  if (!op_body(node.op, dtype))
    return invalid("The operation is not defined for element type ({}).", dtype_name(dtype));
  return {};
}

Status check_all_same(const Types& operands) {
  for (const TensorType& type : operands)
    TUFF_RETURN_IF_ERROR(check_same("Every operand", operands[0], type));
  return {};
}

// A mask or a bound is one element for all, or one for each.
Status check_scalar_or_same(const char* what, const TensorType& full, const TensorType& found) {
  if (found.rank() == 0 && found.dtype == full.dtype) return {};
  return check_same(what, full, found);
}

Result<Types> select_types(const Types& operands) {
  TensorType mask{DType::kBool, operands[1].shape};
  TUFF_RETURN_IF_ERROR(check_scalar_or_same("The predicate", mask, operands[0]));
  TUFF_RETURN_IF_ERROR(check_same("The third operand", operands[1], operands[2]));
  return Types{operands[1]};
}

Result<Types> clamp_types(const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_scalar_or_same("The lower bound", operands[1], operands[0]));
  TUFF_RETURN_IF_ERROR(check_scalar_or_same("The upper bound", operands[1], operands[2]));
  return Types{operands[1]};
}

Result<Types> precision_types(const Node& node, const Types& operands) {
  if (node.attrs.as<ReducePrecisionAttrs>().exponent_bits < 1)
    return invalid("Attribute exponent_bits ({}) must be at least 1.",
                   node.attrs.as<ReducePrecisionAttrs>().exponent_bits);
  if (node.attrs.as<ReducePrecisionAttrs>().mantissa_bits < 0)
    return invalid("Attribute mantissa_bits ({}) must be at least 0.",
                   node.attrs.as<ReducePrecisionAttrs>().mantissa_bits);
  return Types{operands[0]};
}

}  // namespace

Result<Types> elementwise(const Node& node, const Types& operands) {
  TypeRule rule = op_info(node.op).type_rule;
  if (node.op == Op::kConvert) {
    if (node.types.size() != 1) return invalid("The operation has one result.");
    return Types{{node.types[0].dtype, operands[0].shape}};
  }
  TUFF_RETURN_IF_ERROR(check_defined(node, operands[rule == TypeRule::kSelect ? 1 : 0].dtype));
  switch (rule) {
    case TypeRule::kSelect: return select_types(operands);
    case TypeRule::kClamp: return clamp_types(operands);
    case TypeRule::kPrecision: return precision_types(node, operands);
    default: break;
  }
  TUFF_RETURN_IF_ERROR(check_all_same(operands));
  if (rule == TypeRule::kPredicate) return Types{{DType::kBool, operands[0].shape}};
  return Types{operands[0]};
}

Result<Types> compare(const Node&, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_all_same(operands));
  return Types{{DType::kBool, operands[0].shape}};
}

}  // namespace tuff::infer
