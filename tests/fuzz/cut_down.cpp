#include "tests/fuzz/cut_down.h"

#include <optional>
#include <vector>

#include "tests/fuzz/precision.h"

namespace tuff::fuzz {

namespace {

// What `output` needs, parameters included; the nodes in `cut` become parameters.
Graph extract(const Graph& graph, Value output, const std::vector<bool>& cut) {
  std::vector<bool> needed(graph.nodes().size());
  needed[output.node] = true;
  for (uint32_t id = output.node + 1; id-- > 0;)
    if (needed[id] && !cut[id])
      for (Value operand : graph.node(id).operands) needed[operand.node] = true;
  std::vector<Precision> all = precisions(graph);
  Graph small;
  std::vector<uint32_t> made(graph.nodes().size());
  for (uint32_t id = 0; id < graph.nodes().size(); ++id) {
    bool parameter = graph.node(id).op == Op::kParameter;
    if (!needed[id] || !(parameter || cut[id])) continue;
    std::string name = parameter ? graph.parameter_name(id) : all[id].integral ? kWholeName : "any";
    made[id] = small.add_parameter(graph.node(id).types[0], name).node;
  }
  for (uint32_t id = 0; id < graph.nodes().size(); ++id) {
    if (!needed[id] || cut[id] || graph.node(id).op == Op::kParameter) continue;
    Node node = graph.node(id);
    for (Value& operand : node.operands) operand.node = made[operand.node];
    made[id] = small.add(std::move(node)).node;
  }
  small.set_outputs({{made[output.node], output.result}});
  return small;
}

std::optional<Value> first_failing_value(const Graph& graph,
                                         const std::function<bool(const Graph&)>& fails) {
  std::vector<bool> uncut(graph.nodes().size());
  for (uint32_t id = graph.num_parameters(); id < graph.nodes().size(); ++id)
    for (uint32_t i = 0; i < graph.node(id).types.size(); ++i)
      if (fails(extract(graph, {id, i}, uncut))) return Value{id, i};
  return std::nullopt;
}

}  // namespace

Graph cut_down(const Graph& graph, const std::function<bool(const Graph&)>& fails) {
  std::optional<Value> output = first_failing_value(graph, fails);
  if (!output) return graph;  // only several outputs together fail
  std::vector<bool> cut(graph.nodes().size());
  Graph smallest = extract(graph, *output, cut);
  for (uint32_t id = output->node; id-- > graph.num_parameters();) {
    const Node& node = graph.node(id);
    if (node.types.size() != 1 || node.op == Op::kConstant) continue;
    cut[id] = true;
    Graph candidate = extract(graph, *output, cut);
    if (candidate.nodes().size() - candidate.num_parameters() <
            smallest.nodes().size() - smallest.num_parameters() &&
        fails(candidate))
      smallest = std::move(candidate);
    else
      cut[id] = false;
  }
  return smallest;
}

}  // namespace tuff::fuzz
