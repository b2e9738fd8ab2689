// Other schedules of a graph's matmuls are measured on a session's device, which then takes and
// keeps those that are faster.
#pragma once

#include "backend/tune.h"
#include "frontend/session/session.h"

namespace tuff {

inline constexpr double kTuneSeconds = 30;

// Nobody else may use the device meanwhile. Errors: kUsage where it chooses no schedules, or
// the budget is none.
Result<TuneReport> tune_model(const Session& session, const Graph& graph, double budget_s);

}  // namespace tuff
