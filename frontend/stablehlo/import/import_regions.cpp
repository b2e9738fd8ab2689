// Regions become closed graphs: what they use from outside is passed in.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "frontend/stablehlo/import/import.h"

namespace tuff::stablehlo {

namespace {

// Values defined within, and those used but defined elsewhere, in order of use.
struct Uses {
  std::unordered_set<uint32_t> defined, seen;
  std::vector<uint32_t> outside;

  void visit(const std::vector<Region>& regions) {
    for (const Region& region : regions)
      for (const Block& block : region.blocks) {
        defined.insert(block.arguments.begin(), block.arguments.end());
        for (const Operation& op : block.operations) visit(op);
      }
  }
  void visit(const Operation& op) {
    for (uint32_t id : op.operands)
      if (!defined.contains(id) && seen.insert(id).second) outside.push_back(id);
    visit(op.regions);
    for (uint32_t i = 0; i < op.types.size(); ++i) defined.insert(op.first_result + i);
  }
};

// Copies a constant, or a view of one, from graph to graph.
std::optional<Value> copy_constant(const Graph& from, Value value, Graph* to, int depth = 0) {
  constexpr int kMaxDepth = 4;
  const Node& node = from.node(value);
  bool copied = node.op == Op::kConstant || node.op == Op::kIota ||
                node.op == Op::kBroadcastInDim || node.op == Op::kReshape ||
                node.op == Op::kConvert;
  if (!copied || depth > kMaxDepth) return std::nullopt;
  Node copy = node;
  for (Value& operand : copy.operands) {
    auto inner = copy_constant(from, operand, to, depth + 1);
    if (!inner) return std::nullopt;
    operand = *inner;
  }
  return to->add(std::move(copy));
}

bool is_constant(const Graph& graph, std::span<const Value> values) {
  for (Value v : values) {
    Graph scratch;
    if (!copy_constant(graph, v, &scratch)) return false;
  }
  return true;
}

}  // namespace

std::vector<uint32_t> Importer::captures(const std::vector<Region>& regions) const {
  Uses uses;
  uses.visit(regions);
  return std::move(uses.outside);
}

// What regions capture and cannot copy: these must be passed as operands.
std::vector<uint32_t> passed_captures(const OpContext& context) {
  std::vector<uint32_t> passed;
  for (uint32_t id : context.importer.captures(context.op.regions)) {
    auto values = context.scope.values.find(id);
    if (values && !is_constant(context.graph(), *values)) passed.push_back(id);
  }
  return passed;
}

namespace {

struct RegionParameter {
  uint32_t id;  // the argument that it is, or that it is a member of
  TensorType type;
};

// One for each member of the block's arguments. A comparator's come in twos, of the elements that
// are compared, and so do their members.
Result<std::vector<RegionParameter>> region_parameters(const OpContext& context,
                                                       const Block& block) {
  std::vector<RegionParameter> parameters;
  size_t together = context.op.name == "stablehlo.sort" ? 2 : 1;
  for (size_t first = 0; first < block.arguments.size(); first += together) {
    uint32_t id = block.arguments[first];
    auto types = flatten_type(context.importer.module().value_types[id]);
    if (!types.ok()) return context.error(types.error().code, types.error().message);
    for (const TensorType& type : *types)
      for (size_t i = first; i < std::min(first + together, block.arguments.size()); ++i)
        parameters.push_back({block.arguments[i], type});
  }
  return parameters;
}

}  // namespace

Result<GraphPtr> Importer::import_region(OpContext& context, const Region& region,
                                         const std::vector<uint32_t>& passed, bool through) {
  if (region.blocks.size() != 1)
    return context.unsupported("A region of several blocks is not supported.");
  const Block& block = region.blocks[0];
  auto graph = std::make_shared<Graph>();
  graph->name = std::string(context.short_name());
  Scope scope{graph.get(), {}};
  std::map<uint32_t, Values> arguments;
  for (uint32_t id : block.arguments) arguments[id];  // a token has no values
  TUFF_ASSIGN(std::vector<RegionParameter> parameters, region_parameters(context, block));
  for (size_t position = 0; position < parameters.size(); ++position) {
    auto& [id, type] = parameters[position];
    // A loop's arguments are its operands; no other region takes more than scalars.
    if (has_open_size(type.shape) && position < context.operands.size())
      type = context.type(context.operands[position]);
    if (has_open_size(type.shape))
      return context.unsupported(
          fmt::format("Argument ({}) of the region has no shape.", position));
    arguments[id].push_back(graph->add_parameter(std::move(type)));
  }
  for (const auto& [id, values] : arguments) scope.values.set(id, values);
  Values returned_last;
  for (uint32_t id : passed) {
    Values inner;
    for (Value v : context.scope.values.at(id))
      inner.push_back(graph->add_parameter(context.type(v)));
    returned_last.insert(returned_last.end(), inner.begin(), inner.end());
    scope.values.set(id, inner);
  }
  Uses uses;
  for (const Operation& op : block.operations) uses.visit(op);
  for (uint32_t id : uses.outside) {
    auto outer = context.scope.values.find(id);
    if (scope.values.contains(id) || !outer) continue;
    Values inner;
    for (Value v : *outer) {
      auto copy = copy_constant(context.graph(), v, graph.get());
      if (!copy)
        return context.unsupported(fmt::format(
            "The body of ({}) uses a value from outside that is not a constant.", context.op.name));
      inner.push_back(*copy);
    }
    scope.values.set(id, inner);
  }
  TUFF_ASSIGN(Values results, import_block(block, scope));
  if (through) results.insert(results.end(), returned_last.begin(), returned_last.end());
  graph->set_outputs(std::move(results));
  return GraphPtr(std::move(graph));
}

}  // namespace tuff::stablehlo
