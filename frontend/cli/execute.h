// One model run on one device (or the reference evaluator), with what it cost.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/compile.h"
#include "backend/device.h"
#include "frontend/session/device.h"

namespace tuff::cli {

struct ExecuteOptions {
  std::set<std::string> disabled;
  int64_t repeat = 0;        // runs after the second, for the steady time
  bool quiet = false;        // no progress
  bool require_gpu = false;  // what the GPU would leave to the CPU is an error
};

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

// kFallbackRefused naming the first operation that the host would run, if any.
Status refuse_hosted(const CompileReport& report);

Result<Execution> execute_reference(const Graph& graph, const std::vector<Literal>& arguments);
Result<Execution> execute(Device& device, const DeviceChoice& choice, const Graph& graph,
                          const std::vector<Literal>& arguments, const ExecuteOptions& options);

}  // namespace tuff::cli
