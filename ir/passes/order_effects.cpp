#include "ir/passes/order_effects.h"

#include <algorithm>
#include <optional>

namespace tuff {

namespace {

const TensorType kToken{DType::kBool, {}};

bool takes_token(const Node& node) {
  if (node.op == Op::kHostCall) {
    const auto& call = node.attrs.as<HostCallAttrs>();
    return call.has_side_effect && !call.has_token;
  }
  if (!is_control_flow(node.op)) return false;
  return std::any_of(node.regions.begin(), node.regions.end(), [](const GraphPtr& region) {
    return std::any_of(region->nodes().begin(), region->nodes().end(), takes_token);
  });
}

GraphPtr region_with_token(const Graph& region, bool gives);

// The node with a token as its last operand and its last result.
Node with_token(Node node, Value token) {
  node.operands.push_back(token);
  node.types.push_back(kToken);
  if (node.op == Op::kHostCall) node.attrs.edit<HostCallAttrs>().has_token = true;
  for (size_t i = 0; i < node.regions.size(); ++i) {
    bool condition = node.op == Op::kWhile && i == 0;
    node.regions[i] = region_with_token(*node.regions[i], !condition);
  }
  return node;
}

// Copies the graph into `out`, whose parameters are there. From the first effect on there is a
// token; `token` is it then.
std::vector<Value> copy_with_tokens(const Graph& graph, Graph& out, std::optional<Value>& token) {
  std::vector<Value> map(graph.nodes().size());
  for (uint32_t id = 0; id < graph.nodes().size(); ++id) {
    map[id] = {id, 0};
    if (id < graph.num_parameters()) continue;
    Node node = graph.node(id);
    for (Value& v : node.operands) v = {map[v.node].node, v.result};
    bool takes = takes_token(node);
    if (takes && !token) token = add_constant(out, Literal::scalar(DType::kBool, 0));
    if (takes) node = with_token(std::move(node), *token);
    auto results = static_cast<uint32_t>(node.types.size());
    map[id] = out.add(std::move(node));
    if (takes) token = Value{map[id].node, results - 1};
  }
  std::vector<Value> outputs;
  for (Value v : graph.outputs()) outputs.push_back({map[v.node].node, v.result});
  return outputs;
}

void copy_parameters(const Graph& graph, Graph& out) {
  out.name = graph.name;
  for (uint32_t i = 0; i < graph.num_parameters(); ++i)
    out.add_parameter(graph.node(i).types[0], graph.parameter_name(i), graph.node(i).loc);
}

// The region with the token as its last parameter and, where it gives one, as its last output.
GraphPtr region_with_token(const Graph& region, bool gives) {
  Graph out;
  copy_parameters(region, out);
  std::optional<Value> token = out.add_parameter(kToken);
  std::vector<Value> outputs = copy_with_tokens(region, out, token);
  std::vector<std::string> names = region.output_names();
  if (gives) {
    outputs.push_back(*token);
    names.push_back("");
  }
  out.set_outputs(std::move(outputs), std::move(names));
  return std::make_shared<const Graph>(std::move(out));
}

}  // namespace

Result<Graph> order_effects(const Graph& graph, const PassContext&) {
  bool any = std::any_of(graph.nodes().begin(), graph.nodes().end(), takes_token);
  if (!any) return graph;
  Graph out;
  copy_parameters(graph, out);
  out.donations = graph.donations;
  std::optional<Value> token;
  std::vector<Value> outputs = copy_with_tokens(graph, out, token);
  out.set_outputs(std::move(outputs), graph.output_names());
  return out;
}

}  // namespace tuff
