// Tuning: measures other schedules for the contractions of a graph and says which are faster.
// Nothing else in tuff measures before it chooses; what is found goes into Caps::tuning.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/tune_trial.h"
#include "ir/graph.h"

namespace tuff {

// One schedule of one group, tried.
struct TuneTrial {
  std::string problem, schedule;
  double load_ms = 0;  // compiling it, up to the end of its first run
  double run_ms = 0;   // of a later one
};

struct TuneOptions {
  // Seconds after which no further schedule is tried; the last one tried may take longer. Each
  // contraction gets the share of it that it has of the time of all.
  double budget_s = 30;
  std::set<std::string> disabled;  // of CompileOptions
  MakeArgument make_argument;      // data for groups
  // Called before each trial with the seconds used; an error ends the tuning. May be empty.
  std::function<Status(double used_s)> before_trial;
  // Called after each that computes what it should. May be empty.
  std::function<void(const TuneTrial&)> after_trial;
};

// One contraction, and all groups of the graph that compute it.
struct TunedProblem {
  std::string problem;                // print_contraction_problem
  int64_t runs = 0;                   // in one run of the graph
  std::string chosen, best;           // print_contraction_schedule; equal if none is faster
  double chosen_ms = 0, best_ms = 0;  // in one run of the graph
  int64_t tried = 0;                  // other schedules
  std::vector<std::string> wrong;     // of these: those that compute something else
  bool searched = false;              // false: the budget was used up before
};

struct TuneReport {
  std::vector<TunedProblem> problems;  // by chosen_ms, most first
  Tuning faster;                       // than what the device's caps choose, by 5 % and more
};

// Takes about the budget; nothing else should run meanwhile. Errors: those of compile; of the
// device, where the schedules that it takes now do not run; kUnsupported where it times no steps.
Result<TuneReport> tune(Device& device, const Graph& graph, const TuneOptions& options);

}  // namespace tuff
