#include "backend/compile.h"

#include <algorithm>

#include "backend/plan/assemble.h"
#include "ir/evaluate/evaluate.h"
#include "ir/pass.h"
#include "ir/support/deep_stack.h"
#include "ir/text/print.h"

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

// Regions in regions that any stack has room for.
constexpr int kShallowDepth = 16;

// Times the stops of the walk. A stop begins where the one before it ended, so that
// they add up to the whole.
class StopClock {
 public:
  StopClock(Timeline* timeline, std::vector<PhaseTime>& stops)
      : timeline_(timeline), stops_(stops) {}

  void end_stop(const char* name) {
    auto begin = last_;
    double ms = lap_ms();
    stops_.push_back({name, ms});
    if (timeline_ != nullptr) timeline_->add("phase", name, begin, last_);
  }
  // What was done since belongs to the stop that ended last.
  void extend_last() {
    if (!stops_.empty()) stops_.back().ms += lap_ms();
  }
  // What was done since belongs to no stop.
  void skip() { last_ = Timeline::Clock::now(); }

 private:
  double lap_ms() {
    auto now = Timeline::Clock::now();
    double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

  Timeline* timeline_;
  std::vector<PhaseTime>& stops_;
  Timeline::Clock::time_point last_ = Timeline::Clock::now();
};

Result<std::shared_ptr<const Program>> walk(const Graph& graph, const Caps& device_caps,
                                            const CompileOptions& options, CompileReport& r,
                                            StopClock& clock) {
  Caps caps = device_caps;
  if (options.disabled.count(kLibraryCalls)) caps.library_calls = false;
  constexpr const char* kOthers[] = {kLibraryCalls};
  TUFF_RETURN_IF_ERROR(check_disabled(options.disabled, kOthers));
  auto dump = [&](const std::string& stop, const auto& text) {
    if (!options.dump || !options.dump_after.count(stop)) return;
    options.dump(stop, text());
    clock.skip();
  };
  r.ops = count_ops(graph);
  dump("import", [&] { return print(graph); });

  PassContext context;
  context.caps = &caps;
  context.evaluate_node = evaluate_node;
  PassRunOptions pass_options;
  pass_options.disabled = options.disabled;
  pass_options.disabled.erase(kLibraryCalls);
  if (options.verify) pass_options.verify_each = true;
  pass_options.on_time = [&](const char* name, double) { clock.end_stop(name); };
  // Not always: who watches steps pays for telling whether each changed the graph.
  if (!options.dump_after.empty())
    pass_options.on_step = [&](const char* name, const Graph&, const Graph& after, bool) {
      dump(name, [&] { return print(after); });
    };
  TUFF_ASSIGN(Graph grouped, run_passes(graph, context, pass_options));

  auto compile_hosted = [&](const Graph& region) -> Result<std::shared_ptr<const Program>> {
    if (!caps.host)
      return Error{ErrorCode::kUnsupported,
                   "The device (" + caps.name + ") has no host to run what it has no kernel for.",
                   ""};
    CompileOptions host_options;
    host_options.disabled = options.disabled;
    host_options.verify = options.verify;
    return compile(region, *caps.host, host_options, nullptr);
  };
  TUFF_ASSIGN(LoweredGraph lowered, lower_graph(grouped, caps, compile_hosted));
  clock.end_stop(phase::kLower);
  dump("lower", [&] { return print_lowered(lowered); });
  if (options.dump_after.count("glsl")) {
    TUFF_ASSIGN(std::string text, print_glsl(lowered, caps));
    dump("glsl", [&] { return text; });
  }

  TUFF_ASSIGN(std::shared_ptr<const Program> program,
              assemble_program(std::move(lowered), caps, r, options.verify));
  clock.end_stop(phase::kPlan);
  dump("plan", [&] { return print_plan(*program); });
  for_each_step(program->steps,
                [&](const Step& step, int) { r.groups += is_control(step.kind) ? 0 : 1; });
  r.kernels = static_cast<int64_t>(program->kernels.size());
  return program;
}

// How many regions stand in one another.
int region_depth(const Graph& graph) {
  int deepest = 0;
  std::vector<std::pair<const Graph*, int>> pending{{&graph, 0}};
  while (!pending.empty()) {
    auto [at, depth] = pending.back();
    pending.pop_back();
    deepest = std::max(deepest, depth);
    for (const Node& node : at->nodes())
      for (const GraphPtr& region : node.regions) pending.emplace_back(region.get(), depth + 1);
  }
  return deepest;
}

Result<std::shared_ptr<const Program>> compile_here(const Graph& graph, int depth, const Caps& caps,
                                                    const CompileOptions& options,
                                                    CompileReport& report) {
  if (depth > nesting_limit())
    return Error{
        ErrorCode::kUnsupported,
        "Regions are nested more than " + std::to_string(nesting_limit()) + " levels deep.", ""};
  StopClock clock(options.timeline, report.stops);
  auto program = walk(graph, caps, options, report, clock);
  clock.extend_last();  // the graphs of the walk are gone only now
  return program;
}

}  // namespace

Result<std::shared_ptr<const Program>> compile(const Graph& graph, const Caps& caps,
                                               const CompileOptions& options,
                                               CompileReport* report) {
  CompileReport unused;
  CompileReport& filled = report ? *report : unused;
  int depth = region_depth(graph);
  if (depth <= kShallowDepth) return compile_here(graph, depth, caps, options, filled);
  return on_deep_stack([&] { return compile_here(graph, depth, caps, options, filled); });
}

}  // namespace tuff
