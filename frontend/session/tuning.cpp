#include "frontend/session/tuning.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/verify/validate_device.h"
#include "frontend/session/measure.h"
#include "frontend/weights/seeded.h"

namespace tuff {

namespace {

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

}  // namespace

Result<TuneReport> tune_model(const Session& session, const Graph& graph, double budget_s) {
  TUFF_RETURN_IF_ERROR(check_tuning(session.choice(), budget_s));
  const SessionHooks& hooks = session.options().hooks;
  ProgressFn progress = hooks.progress ? hooks.progress("tune", "seconds") : nullptr;
  TuneOptions options;
  options.budget_s = budget_s;
  options.disabled = session.options().disabled;
  options.make_argument = [](uint32_t i, const TensorType& type) {
    return seeded_argument(fmt::format("{}", i), type);
  };
  options.before_trial = [&](double used_s) -> Status {
    if (progress)
      progress(static_cast<int64_t>(std::min(used_s, budget_s)), static_cast<int64_t>(budget_s));
    return hooks.check ? hooks.check() : Status();
  };
  if (hooks.log)
    options.after_trial = [&](const TuneTrial& trial) {
      hooks.log("tune", fmt::format("tune {} loaded in {}: {}: {}", format_ms(trial.run_ms),
                                    format_ms(trial.load_ms), trial.problem, trial.schedule));
    };
  TUFF_ASSIGN(TuneReport report, tune(session.device(), graph, options));
  auto warn = [&](const std::string& sentence) {
    if (hooks.warn) hooks.warn(sentence);
  };
  for (const TunedProblem& problem : report.problems)
    for (const std::string& schedule : problem.wrong)
      warn(fmt::format("A schedule computes ({}) wrong on this device and is not used: {}",
                       problem.problem, schedule));
  if (!report.faster.empty() && !take_tuning(watched_device(session.device()), report.faster))
    warn(
        "The schedules found are not kept: the environment names no cache directory; set "
        "TUFF_CACHE_DIR or HOME.");
  return report;
}

}  // namespace tuff
