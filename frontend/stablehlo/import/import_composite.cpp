// stablehlo.composite: what it computes by its decomposition, and what it is by its name.
#include "frontend/stablehlo/import/import.h"
#include "ir/composite.h"

namespace tuff::stablehlo {

namespace {

// What the composite becomes; nothing where operands or attributes are not those of the name.
using Rule = std::optional<OpResult> (*)(OpContext&);

OpResult inline_decomposition(OpContext& context) {
  return context.importer.inline_function(context.text_attribute("decomposition"),
                                          context.importer.operand_values(context), context);
}

const Attribute* option(const OpContext& context, std::string_view name) {
  const DictAttr* dict = dict_attribute(context, "composite_attributes");
  return dict ? find_attribute(dict->entries, name) : nullptr;
}

std::optional<double> number_option(const OpContext& context, std::string_view name) {
  const Attribute* attribute = option(context, name);
  if (!attribute) return std::nullopt;
  if (auto* value = std::get_if<double>(&attribute->value)) return *value;
  auto* dense = std::get_if<std::shared_ptr<const DenseElements>>(&attribute->value);
  if (!dense || !*dense || !(*dense)->readable || (*dense)->values.num_elements() != 1)
    return std::nullopt;
  return (*dense)->values.get_double(0);
}

// The decomposition as a region of a fused node, as yet without a composite. It sees no more than
// its operands' types: where that is not enough, there is none.
std::optional<Node> decomposition_node(OpContext& context) {
  Graph region;
  Scope scope{&region, {}};
  OpContext inside{context.importer, context.op,    scope,
                   context.operands, context.types, context.loc};
  std::vector<Values> parameters;
  for (Value v : context.operands)
    parameters.push_back({region.add_parameter(context.type(v), {}, context.loc)});
  Result<Values> results =
      context.importer.inline_function(context.text_attribute("decomposition"), parameters, inside);
  if (!results.ok() || results->size() != 1) return std::nullopt;
  region.set_outputs(*results);
  Node node;
  node.op = Op::kFused;
  node.operands = context.operands;
  node.types = {region.type((*results)[0])};
  node.regions = {std::make_shared<const Graph>(std::move(region))};
  return node;
}

// The composite that `make` says the decomposition is.
template <typename Make>
std::optional<OpResult> named_region(OpContext& context, const Make& make) {
  bool is_float_rows = !context.operands.empty() && context.types.size() == 1 &&
                       is_float(context.type(context.operands[0]).dtype) &&
                       !is_small(context.type(context.operands[0]).dtype) &&
                       context.type(context.operands[0]).num_elements() > 0;
  if (!is_float_rows || context.importer.spread()) return std::nullopt;
  std::optional<Node> node = decomposition_node(context);
  if (!node) return std::nullopt;
  node->attrs = FusedAttrs{{}, make(*node->regions[0])};
  if (!check_composite(*node).ok()) return std::nullopt;
  return context.add_checked(*std::move(node));
}

std::optional<OpResult> gelu_in_form(OpContext& context, bool by_tanh) {
  if (context.operands.size() != 1) return std::nullopt;
  return named_region(context, [&](const Graph& region) {
    Gelu gelu;
    auto& list = by_tanh ? gelu.by_tanh : gelu.by_erf;
    list.push_back({0, region.outputs()[0].node});
    return gelu;
  });
}

// Rows along the last dimensions, those that normalized_shape has, or the last one.
int64_t row_columns(const OpContext& context) {
  const Attribute* attribute = option(context, "normalized_shape");
  std::vector<int64_t> sizes;
  if (attribute && attribute_ints(*attribute, &sizes)) return num_elements(sizes);
  const Shape& shape = context.type(context.operands[0]).shape;
  return shape.empty() ? 1 : shape.back();
}

// Operand i, as a vector along the columns, where there is one.
std::optional<RowVector> vector_operand(const OpContext& context, uint32_t i) {
  return i < context.operands.size() ? std::optional(RowVector{i, 0}) : std::nullopt;
}

// --- the rules

// x
std::optional<OpResult> erf(OpContext& context) {
  if (context.operands.size() != 1) return std::nullopt;
  return Values{context.add(Op::kErf, context.operands, context.type(context.operands[0]))};
}

// x; k
std::optional<OpResult> top_k(OpContext& context) {
  std::optional<int64_t> k = dict_int(dict_attribute(context, "composite_attributes"), "k");
  if (context.types.size() != 2 || !k) return std::nullopt;
  return import_top_k(context, *k);
}

// x; approximate: "none", which it is without, or "tanh"
std::optional<OpResult> gelu(OpContext& context) {
  const Attribute* attribute = option(context, "approximate");
  const std::string* form = attribute ? attribute_text(*attribute) : nullptr;
  return gelu_in_form(context, form && *form == "tanh");
}
std::optional<OpResult> gelu_by_tanh(OpContext& context) { return gelu_in_form(context, true); }

// x; axis
std::optional<OpResult> softmax(OpContext& context) {
  std::optional<int64_t> axis = dict_int(dict_attribute(context, "composite_attributes"), "axis");
  if (context.operands.size() != 1 || !axis) return std::nullopt;
  const TensorType& type = context.type(context.operands[0]);
  if (*axis != -1 && *axis != type.rank() - 1) return std::nullopt;
  return named_region(context, [&](const Graph&) { return Softmax{0, row_columns(context)}; });
}

// x, scale where there is one; epsilon, normalized_shape
std::optional<OpResult> rms_norm(OpContext& context) {
  std::optional<double> epsilon = number_option(context, "epsilon");
  if (context.operands.empty() || context.operands.size() > 2 || !epsilon) return std::nullopt;
  return named_region(context, [&](const Graph&) {
    return RmsNorm{0, row_columns(context), *epsilon, vector_operand(context, 1)};
  });
}

// x, scale, shift, as far as they are there; epsilon, normalized_shape
std::optional<OpResult> layer_norm(OpContext& context) {
  std::optional<double> epsilon = number_option(context, "epsilon");
  if (context.operands.empty() || context.operands.size() > 3 || !epsilon) return std::nullopt;
  return named_region(context, [&](const Graph&) {
    return LayerNorm{0, row_columns(context), *epsilon, vector_operand(context, 1),
                     vector_operand(context, 2)};
  });
}

struct CompositeRow {
  std::string_view name;
  Rule rule;
};
constexpr CompositeRow kComposites[] = {
#define COMPOSITE(name, rule) {name, rule},
#include "frontend/stablehlo/import/composites.def"
};

}  // namespace

OpResult import_composite(OpContext& context) {
  std::string name = context.text_attribute("name");
  for (const CompositeRow& row : kComposites)
    if (row.name == name)
      if (std::optional<OpResult> results = row.rule(context)) return *std::move(results);
  return inline_decomposition(context);
}

}  // namespace tuff::stablehlo
