// The k greatest elements: chlo.top_k, and the custom calls that stand for it.
#include <fmt/format.h>

#include "frontend/stablehlo/import/import.h"

namespace tuff::stablehlo {

OpResult import_top_k(OpContext& context, int64_t k) {
  Node node;
  node.op = Op::kTopK;
  node.operands = context.operands;
  node.types = context.types;
  node.attrs = TopKAttrs{k};
  return context.add_checked(std::move(node));
}

namespace {

// What chlo.top_k becomes in programs of callers that have no composites (JAX of 2024).
OpResult import_called_top_k(OpContext& context) {
  const DictAttr* attributes = dict_attribute(context, "mhlo.attributes");
  std::optional<int64_t> k = dict_int(attributes, "k");
  if (!k || context.types.size() != 2) return context.bad("The call has no number k of results.");
  const Attribute* largest = find_attribute(attributes->entries, "largest");
  if (auto* flag = largest ? std::get_if<bool>(&largest->value) : nullptr; flag && !*flag)
    return context.unsupported("A top_k of the smallest elements is not supported.");
  return import_top_k(context, *k);
}

// The one function that the call names, as sort's comparator of `sorted`: two scalars of each.
Result<GraphPtr> named_comparator(OpContext& context, const Values& sorted) {
  const Attribute* named = context.attribute("called_computations");
  auto* functions = named ? std::get_if<ArrayAttr>(&named->value) : nullptr;
  const std::string* name =
      functions && functions->items.size() == 1 ? attribute_text(functions->items[0]) : nullptr;
  if (!name) return context.bad("The call must name one comparator in called_computations.");
  auto comparator = std::make_shared<Graph>();
  comparator->name = *name;
  std::vector<Values> parameters;
  for (Value v : sorted)
    for (int side = 0; side < 2; ++side)
      parameters.push_back({comparator->add_parameter({context.type(v).dtype, {}})});
  Scope scope{comparator.get(), {}};
  OpContext inside{context.importer, context.op, scope, {}, {}, context.loc};
  TUFF_ASSIGN(Values results, context.importer.inline_function(*name, parameters, inside));
  comparator->set_outputs(std::move(results));
  return GraphPtr(std::move(comparator));
}

// JAX's approx_max_k and approx_min_k: inputs, as many initial values, and a comparator. The
// elements that come first are exact here. A result that is not gathered into k of them has more
// room, which those that follow fill.
OpResult import_approximate_top_k(OpContext& context) {
  size_t count = context.types.size();
  if (count == 0 || context.operands.size() != 2 * count)
    return context.bad("The call takes an input and an initial value for each result.");
  const DictAttr* config = dict_attribute(context, "mhlo.backend_config");
  std::optional<int64_t> dimension = dict_int(config, "reduction_dim");
  const Shape& shape = context.type(context.operands[0]).shape;
  if (!dimension || *dimension < 0 || *dimension >= static_cast<int64_t>(shape.size()))
    return context.bad("The call has no reduction_dim within the rank of its inputs.");
  Node sort;
  sort.op = Op::kSort;
  sort.operands.assign(context.operands.begin(),
                       context.operands.begin() + static_cast<std::ptrdiff_t>(count));
  for (Value v : sort.operands) sort.types.push_back(context.type(v));
  sort.attrs = SortAttrs{*dimension, true};
  TUFF_ASSIGN(GraphPtr comparator, named_comparator(context, sort.operands));
  sort.regions = {std::move(comparator)};
  TUFF_ASSIGN(Values sorted, context.add_checked(std::move(sort)));
  Values first;
  for (size_t i = 0; i < count; ++i) {
    const Shape& limit = context.types[i].shape;
    Node slice;
    slice.op = Op::kSlice;
    slice.operands = {sorted[i]};
    slice.types = {context.types[i]};
    slice.attrs = SliceAttrs{std::vector<int64_t>(limit.size(), 0), limit,
                             std::vector<int64_t>(limit.size(), 1)};
    TUFF_ASSIGN(Values result, context.add_checked(std::move(slice)));
    first.push_back(result[0]);
  }
  return first;
}

}  // namespace

Handler find_top_k_handler(std::string_view target) {
  if (target == "mhlo.topk") return import_called_top_k;
  if (target == "ApproxTopK") return import_approximate_top_k;
  return nullptr;
}

}  // namespace tuff::stablehlo
