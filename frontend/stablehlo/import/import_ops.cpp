// Operations that are one node of the same name: the op table's own rows.
#include <fmt/format.h>

#include "frontend/stablehlo/import/import.h"

namespace tuff::stablehlo {

namespace {

// Compare's kind follows from the element type; only the total order is a choice.
Result<Attrs> import_compare(const OpContext& context) {
  std::string text = context.text_attribute("comparison_direction");
  auto direction = parse_word<ComparisonDirection>(text);
  if (!direction) return context.bad(fmt::format("The comparison ({}) is unknown.", text));
  if (context.operands.empty()) return context.bad("The operation needs (2) operands.");
  DType dtype = context.type(context.operands[0]).dtype;
  bool total = context.text_attribute("compare_type") == "TOTALORDER";
  return Attrs(CompareAttrs{*direction, total ? CompareType::kTotalOrder : compare_type_of(dtype)});
}

// Clamp and select may have scalar bounds or a scalar predicate; the Graph's
// elementwise nodes have one shape.
void broadcast_scalars(OpContext& context) {
  for (Value& v : context.operands) {
    const TensorType& type = context.type(v);
    if (type.rank() != 0 || context.types[0].rank() == 0) continue;
    v = context.add(Op::kBroadcastInDim, {v}, {type.dtype, context.types[0].shape},
                    BroadcastInDimAttrs{});
  }
}

// The sort dimension defaults to the last and may count from the end.
Status set_sort_dimension(const OpContext& context, Attrs* attrs) {
  int64_t rank = context.operands.empty() ? 0 : context.type(context.operands[0]).rank();
  int64_t dimension = context.int_attribute("dimension", -1);
  if (dimension < 0) dimension += rank;
  if (dimension < 0 || dimension >= rank)
    return context.bad(fmt::format("The sort dimension ({}) is out of range.", dimension));
  attrs->edit<SortAttrs>().dimension = dimension;
  return {};
}

}  // namespace

OpResult import_table_op(OpContext& context) {
  bool own_dialect = context.op.name.starts_with("stablehlo.");
  std::optional<Op> kind = own_dialect ? find_op(context.short_name()) : std::nullopt;
  if (!kind || op_info(*kind).kernel_only || *kind == Op::kParameter || is_settled(*kind) ||
      *kind == Op::kCustomCall)
    return context.unsupported(
        fmt::format("The operation ({}) is not supported.", context.op.name));
  if (context.types.empty()) return context.bad("The operation has no result.");
  if (*kind == Op::kClamp || *kind == Op::kSelect) broadcast_scalars(context);
  Node node;
  node.op = *kind;
  if (*kind == Op::kCompare) {
    TUFF_ASSIGN(node.attrs, import_compare(context));
  } else {
    TUFF_ASSIGN(node.attrs, import_attributes(context, *kind));
  }
  if (*kind == Op::kSort) TUFF_RETURN_IF_ERROR(set_sort_dimension(context, &node.attrs));
  for (const Region& region : context.op.regions) {
    TUFF_ASSIGN(GraphPtr graph, context.importer.import_region(context, region, {}, false));
    node.regions.push_back(std::move(graph));
  }
  node.operands = context.operands;
  node.types = context.types;
  return context.add_checked(std::move(node));
}

}  // namespace tuff::stablehlo
