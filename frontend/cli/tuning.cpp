#include "frontend/cli/tuning.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/cli/interrupt.h"
#include "frontend/cli/terminal.h"
#include "frontend/session/environment.h"
#include "frontend/weights/seeded.h"

namespace tuff::cli {

// A flag, so that the word after it is not its value.
void add_tune_option(CLI::App& app, std::optional<double>& budget_s) {
  app.add_flag(fmt::format("--tune{{{}}}", kTuneSeconds))
      ->description(
          fmt::format("Measure schedules for the matmuls first (--tune=SECONDS; {} without) and "
                      "keep the faster ones",
                      kTuneSeconds))
      ->check(CLI::Number)
      ->each([&budget_s](const std::string& seconds) { budget_s = std::stod(seconds); });
}

Status check_tuning(const DeviceChoice& choice, double budget_s) {
  if (choice.kind != DeviceSpec::Kind::kVulkan)
    return Error{ErrorCode::kUsage,
                 "Only Vulkan devices choose among schedules (the CPU's matmuls are its "
                 "library's), so there is nothing to tune; use vulkan or vulkan:N.",
                 "--device"};
  if (!(budget_s > 0))
    return Error{ErrorCode::kUsage, "The seconds to tune for must be positive.",
                 fmt::format("{}", budget_s)};
  return {};
}

std::string summary_of(const TuneReport& report) {
  double before_ms = 0, after_ms = 0;
  for (const TunedProblem& problem : report.problems) {
    before_ms += problem.chosen_ms;
    after_ms += problem.best_ms;
  }
  return fmt::format("{} of {} matmuls and convolutions have faster schedules: {} before, {} after",
                     report.faster.size(), report.problems.size(), format_ms(before_ms),
                     format_ms(after_ms));
}

Result<TuneReport> tune_device(Device& device, const Graph& graph, const TuneRequest& request) {
  TuneOptions options;
  options.budget_s = request.budget_s;
  options.disabled = request.disabled;
  options.make_argument = [](uint32_t i, const TensorType& type) {
    return seeded_argument(fmt::format("{}", i), type);
  };
  Progress progress("tune", "seconds", request.quiet);
  options.before_trial = [&](double used_s) -> Status {
    progress.update(static_cast<int64_t>(std::min(used_s, request.budget_s)),
                    static_cast<int64_t>(request.budget_s));
    return check_interrupt();
  };
  if (log_enabled("tune"))
    options.after_trial = [](const TuneTrial& trial) {
      print_note(fmt::format("tune {} loaded in {}: {}: {}", format_ms(trial.run_ms),
                             format_ms(trial.load_ms), trial.problem, trial.schedule));
    };
  TUFF_ASSIGN(TuneReport report, tune(device, graph, options));
  for (const TunedProblem& problem : report.problems)
    for (const std::string& schedule : problem.wrong)
      print_warning(fmt::format("A schedule computes ({}) wrong on this device and is not used: {}",
                                problem.problem, schedule));
  if (!report.faster.empty() && !take_tuning(device, report.faster))
    print_warning(
        "The schedules found are not kept: the environment names no cache directory; set "
        "TUFF_CACHE_DIR or HOME.");
  return report;
}

Status tune_first(const DeviceChoice& choice, Device* device, const Graph& graph,
                  const TuneRequest& request) {
  TUFF_RETURN_IF_ERROR(check_tuning(choice, request.budget_s));
  TUFF_ASSIGN(TuneReport report, tune_device(*device, graph, request));
  print_note(summary_of(report));
  return {};
}

}  // namespace tuff::cli
