#include "frontend/cli/execute.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/executable.h"
#include "frontend/cli/interrupt.h"
#include "frontend/cli/session.h"
#include "frontend/cli/terminal.h"
#include "frontend/session/environment.h"
#include "ir/evaluate/evaluate.h"

namespace tuff::cli {

namespace {

Result<double> timed_run(Executable& executable, RunStats* stats) {
  TUFF_RETURN_IF_ERROR(check_interrupt());
  Timer timer;
  TUFF_RETURN_IF_ERROR(executable.run(stats));
  double ms = timer.ms();
  if (log_enabled("run")) print_note(fmt::format("run {}", format_ms(ms)));
  return ms;
}

// A run like the first: what that has used up is set again, which takes no part in the time.
Result<double> timed_run_again(Executable& executable, const std::vector<Literal>& arguments,
                               RunStats* stats) {
  for (const Donation& donation : executable.program().donations)
    if (donation.in_place)
      TUFF_RETURN_IF_ERROR(
          executable.set_argument(donation.argument, arguments[donation.argument]));
  return timed_run(executable, stats);
}

Result<std::optional<double>> steady_time(Executable& executable,
                                          const std::vector<Literal>& arguments, int64_t repeat) {
  std::vector<double> times;
  for (int64_t i = 0; i < repeat; ++i) {
    TUFF_ASSIGN(double ms, timed_run_again(executable, arguments, nullptr));
    times.push_back(ms);
  }
  if (times.empty()) return std::optional<double>();
  auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return std::optional<double>(*middle);
}

Result<std::vector<Literal>> download(Executable& executable) {
  std::vector<Literal> outputs;
  for (uint32_t i = 0; i < executable.program().outputs.size(); ++i) {
    TUFF_ASSIGN(Literal output, executable.output(i));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace

Status refuse_hosted(const CompileReport& report) {
  if (report.hosted.empty()) return {};
  const CompileReport::Hosted& first = report.hosted[0];
  return Error{ErrorCode::kFallbackRefused,
               fmt::format("({}) would run on the CPU ({}), which --require-gpu refuses.",
                           fmt::join(first.ops, " "), first.why),
               first.where};
}

Result<Execution> execute_reference(const Graph& graph, const std::vector<Literal>& arguments) {
  Execution execution;
  execution.device = "reference evaluator";
  execution.why = "asked for";
  execution.reference = true;
  for (const Node& node : graph.nodes())
    execution.ops += node.op != Op::kParameter && node.op != Op::kConstant;
  Timer timer;
  TUFF_ASSIGN(execution.outputs, evaluate(graph, arguments));
  execution.first_ms = timer.ms();
  TUFF_RETURN_IF_ERROR(check_interrupt());
  return execution;
}

Result<Execution> execute(Device& device, const DeviceChoice& choice, const Graph& graph,
                          const std::vector<Literal>& arguments, const ExecuteOptions& options) {
  Execution execution;
  execution.device = device.description();
  execution.why = choice.why;
  execution.gpu = choice.kind == DeviceSpec::Kind::kVulkan;
  Timer timer;
  TUFF_ASSIGN(auto program,
              compile_graph(graph, device.caps(), options.disabled, &execution.compile));
  execution.ops = execution.compile.ops;
  if (options.require_gpu) TUFF_RETURN_IF_ERROR(refuse_hosted(execution.compile));
  auto load = [&]() -> Result<Executable> {
    Progress progress("compile", "kernels", options.quiet);
    LoadOptions load_options;
    load_options.donate = true;
    load_options.progress = [&](int64_t done, int64_t total) { progress.update(done, total); };
    return Executable::create(device, program, load_options);
  };
  TUFF_ASSIGN(Executable executable, load());
  execution.compile_ms = timer.ms();
  execution.load = executable.load_stats();
  Timer upload;
  for (uint32_t i = 0; i < arguments.size(); ++i)
    TUFF_RETURN_IF_ERROR(executable.set_argument(i, arguments[i]));
  execution.upload_ms = upload.ms();
  TUFF_RETURN_IF_ERROR(timed_run(executable, &execution.run));
  execution.phases = first_run_phases(execution.compile, execution.load, execution.run);
  execution.first_ms = timer.ms();
  TUFF_ASSIGN(execution.outputs, download(executable));
  execution.run = {};  // the second run's alone: it is the steady state
  TUFF_ASSIGN(execution.second_ms, timed_run_again(executable, arguments, &execution.run));
  TUFF_ASSIGN(execution.steady_ms, steady_time(executable, arguments, options.repeat));
  return execution;
}

}  // namespace tuff::cli
