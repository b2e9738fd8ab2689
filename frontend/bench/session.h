// A whole benchmark: workloads one after the other, results kept valid on the way.
#pragma once

#include <string>
#include <vector>

#include "frontend/bench/measure.h"

namespace tuff::bench {

struct SessionOptions {
  std::vector<std::string> names;  // workloads, sets of sets.json, models' paths
  ModelShapes shapes;              // of models
  std::vector<Sizes> sweep;        // empty: each workload at its own sizes
  Settings settings;
  SystemOptions system_options;  // for the exporter's python
  std::vector<std::string> command;
  std::string json_path;  // replaced after every workload; empty: not written
};

// Runs it all. `results` is a valid tuff-bench-1 object whenever this returns.
// Errors: kUsage, kInterrupted, kRunFailed when nothing could be measured, and what
// writing the results meets.
Status run_session(const SessionOptions& options, Json& results);

// The cartesian product of "batch=1,8" and "seq=64,128". Errors: kUsage.
Result<std::vector<Sizes>> parse_sweep(const std::vector<std::string>& axes);

// steady time / JAX's of published.json in bench/; an empty object if there is none.
Json read_published(const std::string& directory);

}  // namespace tuff::bench
