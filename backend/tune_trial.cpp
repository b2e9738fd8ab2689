#include "backend/tune_trial.h"

#include "backend/plan/assemble.h"

namespace tuff {

namespace {

// A graph of nothing but the group, which needs no passes any more.
Graph graph_of_group(const GraphPtr& region) {
  Graph graph;
  Node fused;
  fused.op = Op::kFused;
  for (uint32_t i = 0; i < region->num_parameters(); ++i)
    fused.operands.push_back(graph.add_parameter(region->node(i).types[0]));
  for (Value output : region->outputs()) fused.types.push_back(region->type(output));
  fused.regions = {region};
  auto results = static_cast<uint32_t>(fused.types.size());
  Value first = graph.add(std::move(fused));
  std::vector<Value> outputs;
  for (uint32_t r = 0; r < results; ++r) outputs.push_back({first.node, r});
  graph.set_outputs(outputs);
  return graph;
}

Result<std::shared_ptr<const Program>> compile_group(const GraphPtr& region, const Caps& caps) {
  Graph graph = graph_of_group(region);
  auto no_hosted = [](const Graph&) -> Result<std::shared_ptr<const Program>> {
    return Error{ErrorCode::kUnsupported, "A group has nothing that a host would run.", ""};
  };
  TUFF_ASSIGN(LoweredGraph lowered, lower_graph(graph, caps, no_hosted));
  CompileReport unused;
  return assemble_program(std::move(lowered), caps, unused, verification_asked());
}

}  // namespace

Result<GroupTrial> GroupTrial::create(Device& device, const GraphPtr& region, const Caps& caps,
                                      const MakeArgument& make_argument) {
  TUFF_ASSIGN(auto program, compile_group(region, caps));
  LoadOptions options;
  options.time_steps = true;
  TUFF_ASSIGN(Executable executable, Executable::create(device, program, options));
  for (uint32_t i = 0; i < program->arguments.size(); ++i)
    TUFF_RETURN_IF_ERROR(executable.set_argument(i, make_argument(i, program->arguments[i])));
  return GroupTrial(std::move(executable));
}

Result<std::vector<Literal>> GroupTrial::outputs() {
  TUFF_RETURN_IF_ERROR(executable_.run(nullptr));
  std::vector<Literal> outputs;
  for (uint32_t i = 0; i < executable_.program().outputs.size(); ++i) {
    TUFF_ASSIGN(Literal output, executable_.output(i));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

// Copies that put an output in its place are not the group's: in a program they may be none.
Result<double> GroupTrial::run_ms() {
  RunStats stats;
  stats.time_steps = true;
  TUFF_RETURN_IF_ERROR(executable_.run(&stats));
  double us = 0;
  for (const StepTime& time : stats.steps)
    if (time.step->kind == Step::Kind::kDispatch) us += time.end_us - time.start_us;
  return us / 1e3;
}

}  // namespace tuff
