#include "backend/compile.h"

#include "backend/assemble.h"
#include "ir/evaluate/evaluate.h"
#include "ir/pass.h"
#include "ir/print.h"

namespace tuff {

namespace {

int64_t count_ops(const Graph& graph) {
  int64_t ops = 0;
  for (const Node& node : graph.nodes()) {
    ops += node.op != Op::kParameter && node.op != Op::kConstant;
    if (is_control_flow(node.op))
      for (const GraphPtr& region : node.regions) ops += count_ops(*region);
  }
  return ops;
}

constexpr const char* kLibraryCalls = "library_calls";

}  // namespace

Result<std::shared_ptr<const Program>> compile(const Graph& graph, const Caps& device_caps,
                                               const CompileOptions& options,
                                               CompileReport* report) {
  CompileReport unused;
  CompileReport& r = report ? *report : unused;
  Caps caps = device_caps;
  if (options.disabled.count(kLibraryCalls)) caps.library_calls = false;
  constexpr const char* kOthers[] = {kLibraryCalls};
  TUFF_RETURN_IF_ERROR(check_disabled(options.disabled, kOthers));
  auto dump = [&](const std::string& stop, const auto& text) {
    if (options.dump && options.dump_after.count(stop)) options.dump(stop, text());
  };
  r.ops = count_ops(graph);
  dump("import", [&] { return print(graph); });

  PassContext context;
  context.caps = &caps;
  context.evaluate_node = evaluate_node;
  PassRunOptions pass_options;
  pass_options.disabled = options.disabled;
  pass_options.disabled.erase(kLibraryCalls);
  pass_options.on_time = [&](const char* name, double seconds) {
    r.stops.push_back({name, 1e3 * seconds});
    if (options.timeline == nullptr) return;
    auto end = Timeline::Clock::now();
    auto took = std::chrono::duration<double>(seconds);
    options.timeline->add("phase", name,
                          end - std::chrono::duration_cast<Timeline::Clock::duration>(took), end);
  };
  // Not always: who watches steps pays for telling whether each changed the graph.
  if (!options.dump_after.empty())
    pass_options.on_step = [&](const char* name, const Graph&, const Graph& after, bool) {
      dump(name, [&] { return print(after); });
    };
  TUFF_ASSIGN(Graph grouped, run_passes(graph, context, pass_options));

  Stopwatch lower(options.timeline, "phase", phase::kLower);
  auto compile_hosted = [&](const Graph& region) -> Result<std::shared_ptr<const Program>> {
    if (!caps.host)
      return Error{ErrorCode::kUnsupported,
                   "The device (" + caps.name + ") has no host to run what it has no kernel for.",
                   ""};
    CompileOptions host_options;
    host_options.disabled = options.disabled;
    return compile(region, *caps.host, host_options, nullptr);
  };
  TUFF_ASSIGN(LoweredGraph lowered, lower_graph(grouped, caps, compile_hosted));
  r.stops.push_back({phase::kLower, lower.stop()});
  dump("lower", [&] { return print_lowered(lowered); });
  if (options.dump_after.count("glsl")) {
    TUFF_ASSIGN(std::string text, print_glsl(lowered, caps));
    dump("glsl", [&] { return text; });
  }

  Stopwatch plan(options.timeline, "phase", phase::kPlan);
  std::shared_ptr<const Program> program = assemble_program(std::move(lowered), caps, r);
  r.stops.push_back({phase::kPlan, plan.stop()});
  dump("plan", [&] { return print_plan(*program); });
  for_each_step(program->steps,
                [&](const Step& step, int) { r.groups += is_control(step.kind) ? 0 : 1; });
  r.kernels = static_cast<int64_t>(program->kernels.size());
  return program;
}

}  // namespace tuff
