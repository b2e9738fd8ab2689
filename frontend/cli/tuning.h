// --tune and `tuff tune`: other schedules of a model's matmuls are measured on a device, which
// then takes and keeps those that are faster.
#pragma once

#include <CLI/CLI.hpp>

#include "backend/tune.h"
#include "frontend/session/device.h"

namespace tuff::cli {

inline constexpr double kTuneSeconds = 30;

// --tune[=SECONDS], of commands that run the model afterwards.
void add_tune_option(CLI::App& app, std::optional<double>& budget_s);

struct TuneRequest {
  double budget_s = kTuneSeconds;  // > 0
  std::set<std::string> disabled;
  bool quiet = false;  // no progress
};

// kUsage where the device chooses no schedules, or the budget is none.
Status check_tuning(const DeviceChoice& choice, double budget_s);
// "2 of 3 matmuls and convolutions have faster schedules: 248 ms before, 188 ms after".
std::string summary_of(const TuneReport& report);
// Measures; then the device takes what is faster.
Result<TuneReport> tune_device(Device& device, const Graph& graph, const TuneRequest& request);

// What --tune does before the model runs; says on stderr what was gained. `device` may be null
// where the choice is none that can be tuned.
Status tune_first(const DeviceChoice& choice, Device* device, const Graph& graph,
                  const TuneRequest& request);

}  // namespace tuff::cli
