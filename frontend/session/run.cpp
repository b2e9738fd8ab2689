#include "frontend/session/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/session/measure.h"
#include "ir/evaluate/evaluate.h"

namespace tuff {

namespace {

Status check(const SessionHooks& hooks) { return hooks.check ? hooks.check() : Status(); }

Result<double> timed_run(const SessionHooks& hooks, LoadedModel& model, RunStats* stats) {
  TUFF_RETURN_IF_ERROR(check(hooks));
  Timer timer;
  TUFF_RETURN_IF_ERROR(model.run(stats));
  double ms = timer.ms();
  if (hooks.log) hooks.log("run", fmt::format("run {}", format_ms(ms)));
  return ms;
}

// A run like the first: what that has used up is set again, which takes no part in the time.
Result<double> timed_run_again(const SessionHooks& hooks, LoadedModel& model,
                               const std::vector<Literal>& arguments, RunStats* stats) {
  TUFF_RETURN_IF_ERROR(model.restore_arguments(arguments));
  return timed_run(hooks, model, stats);
}

Result<std::optional<double>> steady_time(const SessionHooks& hooks, LoadedModel& model,
                                          const std::vector<Literal>& arguments, int64_t repeat) {
  std::vector<double> times;
  for (int64_t i = 0; i < repeat; ++i) {
    TUFF_ASSIGN(double ms, timed_run_again(hooks, model, arguments, nullptr));
    times.push_back(ms);
  }
  if (times.empty()) return std::optional<double>();
  auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return std::optional<double>(*middle);
}

Result<Execution> run_reference(const Session& session, const Graph& graph,
                                const std::vector<Literal>& arguments) {
  Execution execution;
  execution.device = "reference evaluator";
  execution.why = session.choice().why;
  execution.reference = true;
  for (const Node& node : graph.nodes())
    execution.ops += node.op != Op::kParameter && node.op != Op::kConstant;
  Timer timer;
  TUFF_ASSIGN(execution.outputs, evaluate(graph, arguments));
  execution.first_ms = timer.ms();
  TUFF_RETURN_IF_ERROR(check(session.options().hooks));
  return execution;
}

Result<Execution> run_on_device(const Session& session, const Graph& graph,
                                const std::vector<Literal>& arguments, int64_t repeat) {
  const SessionHooks& hooks = session.options().hooks;
  Execution execution;
  execution.device = session.device().description();
  execution.why = session.choice().why;
  execution.gpu = session.choice().kind == DeviceSpec::Kind::kVulkan;
  Timer timer;
  LoadOptions how;
  how.donate = true;
  TUFF_ASSIGN(LoadedModel model, session.load(graph, how));
  execution.compile_ms = timer.ms();
  execution.compile = model.report();
  execution.ops = execution.compile.ops;
  execution.load = model.load_stats();
  Timer upload;
  std::shared_ptr<void> activity = hooks.begin("upload");
  TUFF_RETURN_IF_ERROR(model.set_arguments(arguments));
  execution.upload_ms = upload.ms();
  activity.reset();
  activity = hooks.begin(execution.gpu ? "first run" : "packing weights, first run");
  TUFF_RETURN_IF_ERROR(timed_run(hooks, model, &execution.run));
  activity.reset();
  execution.phases = first_run_phases(execution.compile, execution.load, execution.run);
  execution.first_ms = timer.ms();
  TUFF_ASSIGN(execution.outputs, model.outputs());
  execution.run = {};  // the second run's alone: it is the steady state
  TUFF_ASSIGN(execution.second_ms, timed_run_again(hooks, model, arguments, &execution.run));
  TUFF_ASSIGN(execution.steady_ms, steady_time(hooks, model, arguments, repeat));
  return execution;
}

}  // namespace

Result<Execution> run_model(Session& session, const Graph& graph,
                            const std::vector<Literal>& arguments, int64_t repeat) {
  if (session.is_reference()) return run_reference(session, graph, arguments);
  Result<Execution> execution = run_on_device(session, graph, arguments, repeat);
  bool lacks = !execution.ok() && execution.error().code == ErrorCode::kUnsupported &&
               session.choice().kind == DeviceSpec::Kind::kVulkan;
  if (!lacks) return execution;
  Error error = execution.take_error();
  if (session.options().require_gpu)
    return Error{ErrorCode::kFallbackRefused,
                 error.message + " It would run on the CPU, which --require-gpu refuses.",
                 error.where};
  TUFF_ASSIGN(bool fell_back, session.fall_back("the GPU lacks an operation"));
  if (!fell_back) return error;
  if (session.options().hooks.warn)
    session.options().hooks.warn(fmt::format(
        "The GPU cannot run this model, the CPU takes all of it: {}", error.to_string()));
  return run_on_device(session, graph, arguments, repeat);
}

}  // namespace tuff
