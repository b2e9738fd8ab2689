// Open sizes ("?"): numbers once the shapes of the arguments are given, because each
// follows from operands, or from integers computed out of sizes.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/stablehlo/import/import.h"
#include "ir/evaluate/evaluate.h"

namespace tuff::stablehlo {

namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kMaxElements = 64;  // shapes, not data
constexpr int kMaxChain = 16;

// The value where it is a few integers or booleans that follow from constants.
std::optional<Literal> small_constant(const Graph& graph, Value value, int depth = 0) {
  const Node& node = graph.node(value);
  const TensorType& type = graph.type(value);
  if (depth > kMaxChain || is_float(type.dtype) || has_open_size(type.shape) ||
      type.num_elements() > kMaxElements)
    return std::nullopt;
  if (node.op == Op::kConstant) return node.attrs.as<ConstantAttrs>().value;
  if (node.op == Op::kParameter || !node.regions.empty() || !is_pure(node.op)) return std::nullopt;
  std::vector<Literal> operands;
  for (Value operand : node.operands) {
    auto literal = small_constant(graph, operand, depth + 1);
    if (!literal) return std::nullopt;
    operands.push_back(std::move(*literal));
  }
  auto results = evaluate_node(node, operands);
  if (!results.ok()) return std::nullopt;
  return (*results)[value.result];
}

bool names_argument(const Function& main, size_t index, const std::string& name) {
  return (name == main.input_names[index] && !name.empty()) || name == std::to_string(index) ||
         name == fmt::format("arg{}", index);
}

}  // namespace

std::optional<Ints> constant_ints(const Graph& graph, Value value) {
  auto literal = small_constant(graph, value);
  if (!literal) return std::nullopt;
  Ints ints;
  for (int64_t i = 0; i < literal->num_elements(); ++i) ints.push_back(literal->get_int(i));
  return ints;
}

std::optional<Ints> known_distance(const Graph& graph, Value start, Value limit) {
  const Node& node = graph.node(limit);
  if (node.op == Op::kAdd && node.operands[0] == start)
    return constant_ints(graph, node.operands[1]);
  if (node.op == Op::kAdd && node.operands[1] == start)
    return constant_ints(graph, node.operands[0]);
  auto from = constant_ints(graph, start), to = constant_ints(graph, limit);
  if (!from || !to || from->size() != to->size()) return std::nullopt;
  for (size_t i = 0; i < to->size(); ++i) (*to)[i] -= (*from)[i];
  return to;
}

void Importer::fold_sizes(Graph& graph, Values& results) const {
  for (Value& value : results) {
    if (graph.node(value).op == Op::kConstant) continue;
    std::string loc = graph.node(value).loc;
    if (auto literal = small_constant(graph, value))
      value = add_constant(graph, std::move(*literal), loc);
  }
}

Importer::Importer(const Module& module, const ArgumentShapes& shapes,
                   std::string_view shape_option)
    : module_(module),
      shapes_(shapes),
      shape_option_(shape_option),
      open_(std::any_of(module.value_types.begin(), module.value_types.end(),
                        [](const Type& type) { return has_open_size(type.shape); })) {}

Status Importer::check_shape_names(const Function& main) const {
  for (const auto& [name, shape] : shapes_) {
    bool known = false;
    for (size_t i = 0; i < main.inputs.size(); ++i) known = known || names_argument(main, i, name);
    if (!known)
      return Error{ErrorCode::kUsage,
                   fmt::format("The model has no argument ({}) to give the shape ({}) to.", name,
                               fmt::join(shape, "x")),
                   module_.file_name};
  }
  return {};
}

Result<std::vector<TensorType>> Importer::argument_types(const Function& main, size_t index) const {
  const Type& declared = module_.value_types[main.body.blocks[0].arguments[index]];
  TUFF_ASSIGN(std::vector<TensorType> flat, flatten_type(declared));
  for (TensorType& type : flat) {
    if (!has_open_size(type.shape)) continue;
    auto given = std::find_if(shapes_.begin(), shapes_.end(), [&](const auto& entry) {
      return names_argument(main, index, entry.first);
    });
    const std::string& name = main.input_names[index];
    if (given == shapes_.end())
      return Error{ErrorCode::kUnsupported,
                   fmt::format("The type ({}) leaves a size open; give the argument's shape "
                               "({}{}=2x64) or its value.",
                               declared.to_string(), shape_option_,
                               name.empty() ? std::to_string(index) : name),
                   ""};
    TensorType found{type.dtype, given->second};
    auto count = checked_num_elements(found.shape);
    if (!count.ok() || *count > INT64_MAX / 8 || !fits(type, found))
      return Error{ErrorCode::kUsage,
                   fmt::format("The shape ({}) is not one of the type ({}).",
                               fmt::join(given->second, "x"), declared.to_string()),
                   ""};
    type = found;
  }
  return flat;
}

bool has_open_arguments(const Module& module) {
  for (const Function& function : module.functions)
    if (function.is_public && std::any_of(function.inputs.begin(), function.inputs.end(),
                                          [](const Type& t) { return has_open_size(t.shape); }))
      return true;
  return false;
}

// Results of dynamic_* operations are as large as an operand says; those of most others
// are as large as their operands.
Status Importer::resolve_types(OpContext& context) const {
  auto is_open = [](const TensorType& type) { return has_open_size(type.shape); };
  if (std::none_of(context.types.begin(), context.types.end(), is_open)) return {};
  std::string_view name = context.op.name;
  bool iota = name == "stablehlo.dynamic_iota";
  if (iota || name == "stablehlo.dynamic_reshape" || name == "stablehlo.dynamic_broadcast_in_dim") {
    size_t sizes = iota ? 0 : 1;
    TUFF_RETURN_IF_ERROR(context.expect_operands(sizes + 1));
    auto shape = constant_ints(context.graph(), context.operands[sizes]);
    if (!shape) return context.unsupported("The shape does not follow from the arguments' shapes.");
    TensorType found{context.types[0].dtype, *shape};
    if (!checked_num_elements(found.shape).ok() || !fits(context.types[0], found))
      return context.bad(fmt::format("The shape ({}) is not one of the type ({}).",
                                     fmt::join(*shape, "x"), context.types[0].to_string()));
    context.types[0] = found;
    return {};
  }
  std::optional<Op> kind =
      name.starts_with("stablehlo.") ? find_op(context.short_name()) : std::nullopt;
  bool chlo = name.starts_with("chlo.");
  bool elementwise = chlo || (kind && is_elementwise(*kind));
  bool carried = kind == Op::kWhile;
  for (size_t i = 0; i < context.types.size(); ++i)
    for (size_t k = 0; k < context.operands.size(); ++k) {
      TensorType found{context.types[i].dtype, context.type(context.operands[k]).shape};
      bool implies = elementwise || (carried && i == k);
      if (implies && is_open(context.types[i]) && fits(context.types[i], found))
        context.types[i] = found;
    }
  // What is left follows from the node's rule (OpContext::add_checked); these have none.
  if (chlo && name != "chlo.top_k" &&
      std::any_of(context.types.begin(), context.types.end(), is_open))
    return context.unsupported("The result's shape does not follow from the operands' shapes.");
  return {};
}

}  // namespace tuff::stablehlo
