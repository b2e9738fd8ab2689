// A model's run on a session's device (or by the reference evaluator), with what it cost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/session/session.h"

namespace tuff {

struct Execution {
  std::string device;  // its description
  std::string why;     // why this one
  bool gpu = false;
  bool reference = false;
  std::vector<Literal> outputs;  // of the first run
  CompileReport compile;
  LoadStats load;
  std::vector<PhaseTime> phases;    // of the first run; empty for the reference
  RunStats run;                     // of the second run
  int64_t ops = 0;                  // of the imported model
  double compile_ms = 0;            // graph to loaded program
  double upload_ms = 0;             // of the arguments
  double first_ms = 0;              // compile_ms, upload_ms and the first run
  std::optional<double> second_ms;  // a run with everything in place; the reference runs once
  std::optional<double> steady_ms;  // median of `repeat` runs
};

// Runs twice, and then `repeat` times for the steady time. What a Vulkan device cannot do ends
// the run where the user chose it; where tuff did, the session falls back to the CPU, with a
// warning.
Result<Execution> run_model(Session& session, const Graph& graph,
                            const std::vector<Literal>& arguments, int64_t repeat = 0);

}  // namespace tuff
