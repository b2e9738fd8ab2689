// --check: a device's outputs against the reference evaluator's, and where they
// part when they differ.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "backend/device.h"
#include "ir/evaluate/difference.h"
#include "ir/graph.h"

namespace tuff::cli {

struct CheckedRun {
  Device* device = nullptr;
  const Graph* graph = nullptr;  // as imported
  const std::vector<Literal>* arguments = nullptr;
  std::set<std::string> disabled;
  double tolerance = 0;
};

// A sentence that names the first pass, or else the first node, whose result is not
// the evaluator's. Compiles the model again with every group's result as an output.
Result<std::string> locate_difference(const CheckedRun& run);

}  // namespace tuff::cli
