#include "frontend/cli/tuning.h"

#include <fmt/format.h>

#include "frontend/session/measure.h"

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

}  // namespace tuff::cli
