// --tune and what is said of its result.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "frontend/session/tuning.h"

namespace tuff::cli {

// --tune[=SECONDS], of commands that run the model afterwards.
void add_tune_option(CLI::App& app, std::optional<double>& budget_s);

// "2 of 3 matmuls and convolutions have faster schedules: 248 ms before, 188 ms after".
std::string summary_of(const TuneReport& report);

}  // namespace tuff::cli
