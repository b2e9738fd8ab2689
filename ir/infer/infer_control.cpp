// Control flow and everything else with regions that are not scalar bodies.
#include "ir/composite.h"
#include "ir/infer/infer_rules.h"
#include "ir/text/print.h"

namespace tuff::infer {

namespace {

Result<Types> branches(const Node& node, const Types& operands) {
  Types passed(operands.begin() + 1, operands.end());
  for (size_t i = 0; i < node.regions.size(); ++i)
    TUFF_RETURN_IF_ERROR(check_region(node, i, "branch", passed, node.types));
  return node.types;
}

}  // namespace

Result<Types> while_loop(const Node& node, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_num_regions(node, 2));
  TUFF_RETURN_IF_ERROR(check_region(node, 0, "condition", operands, {{DType::kBool, {}}}));
  TUFF_RETURN_IF_ERROR(check_region(node, 1, "body", operands, operands));
  return operands;
}

Result<Types> if_else(const Node& node, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_same("The predicate", {DType::kBool, {}}, operands[0]));
  TUFF_RETURN_IF_ERROR(check_num_regions(node, 2));
  return branches(node, operands);
}

Result<Types> case_of(const Node& node, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_same("The index", {DType::kI32, {}}, operands[0]));
  if (node.regions.empty()) return invalid("The operation needs at least one branch.");
  TUFF_RETURN_IF_ERROR(check_num_regions(node, node.regions.size()));
  return branches(node, operands);
}

Result<Types> optimization_barrier(const Node&, const Types& operands) { return operands; }

Result<Types> map(const Node& node, const Types& operands) {
  if (node.types.size() != 1) return invalid("The operation has one result.");
  Types parameters;
  for (const TensorType& type : operands) {
    if (type.shape != operands[0].shape)
      return invalid("Every operand must have the shape of ({}), found ({}).",
                     print_type(operands[0]), print_type(type));
    parameters.push_back({type.dtype, {}});
  }
  DType dtype = node.types[0].dtype;
  TUFF_RETURN_IF_ERROR(check_num_regions(node, 1));
  TUFF_RETURN_IF_ERROR(check_region(node, 0, "computation", parameters, {{dtype, {}}}));
  return Types{{dtype, operands[0].shape}};
}

Result<Types> fused(const Node& node, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_num_regions(node, 1));
  TUFF_RETURN_IF_ERROR(check_region(node, 0, "group", operands, node.types));
  TUFF_RETURN_IF_ERROR(check_composite(node));
  return node.types;
}

Result<Types> hosted(const Node& node, const Types& operands) {
  if (node.attrs.as<HostedAttrs>().why.empty())
    return invalid("Attribute why must say what the device lacks.");
  TUFF_RETURN_IF_ERROR(check_num_regions(node, 1));
  TUFF_RETURN_IF_ERROR(check_region(node, 0, "region", operands, node.types));
  return node.types;
}

}  // namespace tuff::infer
