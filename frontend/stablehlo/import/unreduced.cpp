#include "frontend/stablehlo/import/unreduced.h"

#include "ir/rewrite.h"
#include "ir/spmd/collective.h"

namespace tuff::stablehlo {

namespace {

// As each device along `over` has it, and back.
Value marked(Graph& graph, SpmdOp op, Value value, const std::vector<int64_t>& over,
             const std::string& loc) {
  TensorType type = graph.type(value);
  CustomCallAttrs attrs{.sharding = Sharding::whole(type.rank()).to_ints(), .manual_axes = over};
  return add_spmd_op(graph, op, value, std::move(type), std::move(attrs), loc);
}

bool any(const std::vector<std::vector<int64_t>>& unreduced) {
  for (const std::vector<int64_t>& axes : unreduced)
    if (!axes.empty()) return true;
  return false;
}

}  // namespace

Value sum_of_shares(Graph& graph, Value share, const std::vector<int64_t>& over, const Mesh& mesh,
                    const std::string& loc) {
  return add_all_reduce(graph, share, Op::kAdd, mesh.groups(over), mesh.num_parts(over), loc);
}

Value shares_of(Graph& graph, Value sum, const std::vector<int64_t>& over, const std::string& loc) {
  return add_spmd_op(graph, SpmdOp::kShares, sum, graph.type(sum), {.manual_axes = over}, loc);
}

void sum_arguments(WholeProgram* program) {
  const std::vector<std::vector<int64_t>>& unreduced = program->argument_shares;
  if (!any(unreduced)) return;
  const Graph& old = program->graph;
  Graph graph = old.parameters_only();
  std::vector<Value> arguments;
  for (uint32_t i = 0; i < old.num_parameters(); ++i) {
    Value value{i, 0};
    const std::string& loc = old.node(i).loc;
    if (!unreduced[i].empty()) {
      value = marked(graph, SpmdOp::kFullToShard, value, unreduced[i], loc);
      value = sum_of_shares(graph, value, unreduced[i], program->mesh, loc);
      value = marked(graph, SpmdOp::kShardToFull, value, unreduced[i], loc);
    }
    arguments.push_back(value);
  }
  graph.set_outputs(inline_region(graph, old, arguments), old.output_names());
  program->graph = std::move(graph);
}

void share_outputs(WholeProgram* program) {
  const std::vector<std::vector<int64_t>>& unreduced = program->output_shares;
  if (!any(unreduced)) return;
  Graph& graph = program->graph;
  std::vector<Value> outputs = graph.outputs();
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!unreduced[i].empty())
      outputs[i] = shares_of(graph, outputs[i], unreduced[i], graph.node(outputs[i]).loc);
  graph.set_outputs(std::move(outputs), graph.output_names());
}

}  // namespace tuff::stablehlo
