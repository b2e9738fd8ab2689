// while, if, case: captured values become operands.
#include <fmt/format.h>

#include "frontend/stablehlo/import/import.h"

namespace tuff::stablehlo {

namespace {

Values values_of(const OpContext& context, const std::vector<uint32_t>& ids) {
  Values values;
  for (uint32_t id : ids) {
    std::span<const Value> flat = context.scope.values.at(id);
    values.insert(values.end(), flat.begin(), flat.end());
  }
  return values;
}

// A captured value is carried through the loop unchanged, after the loop's own.
OpResult import_while(OpContext& context) {
  if (context.op.regions.size() != 2) return context.bad("A while needs a condition and a body.");
  std::vector<uint32_t> passed = passed_captures(context);
  Node node;
  node.op = Op::kWhile;
  node.operands = context.operands;
  Values captured = values_of(context, passed);
  node.operands.insert(node.operands.end(), captured.begin(), captured.end());
  for (size_t i = 0; i < 2; ++i) {
    TUFF_ASSIGN(GraphPtr graph,
                context.importer.import_region(context, context.op.regions[i], passed, i == 1));
    node.regions.push_back(std::move(graph));
  }
  node.types = context.types;  // resolved: those of the operands
  for (Value v : captured) node.types.push_back(context.type(v));
  TUFF_ASSIGN(Values results, context.add_checked(std::move(node)));
  results.resize(context.types.size());
  return results;
}

OpResult import_branches(OpContext& context) {
  if (context.operands.empty()) return context.bad("The operation needs a predicate or an index.");
  std::vector<uint32_t> passed = passed_captures(context);
  Node node;
  node.op = context.op.name == "stablehlo.if" ? Op::kIf : Op::kCase;
  TUFF_RETURN_IF_ERROR(context.expect_operands(1));
  node.operands = context.operands;
  Values captured = values_of(context, passed);
  node.operands.insert(node.operands.end(), captured.begin(), captured.end());
  for (const Region& region : context.op.regions) {
    TUFF_ASSIGN(GraphPtr graph, context.importer.import_region(context, region, passed, false));
    node.regions.push_back(std::move(graph));
  }
  node.types = context.types;
  for (size_t i = 0; i < node.types.size() && !node.regions.empty(); ++i) {
    const std::vector<Value>& outputs = node.regions[0]->outputs();
    if (has_open_size(node.types[i].shape) && i < outputs.size())
      node.types[i] = node.regions[0]->type(outputs[i]);
  }
  return context.add_checked(std::move(node));
}

}  // namespace

Handler find_control_handler(std::string_view name) {
  if (name == "stablehlo.while") return import_while;
  if (name == "stablehlo.if" || name == "stablehlo.case") return import_branches;
  return nullptr;
}

}  // namespace tuff::stablehlo
