// A device's outputs against the reference evaluator's, and where they part when they differ.
#pragma once

#include <string>
#include <vector>

#include "frontend/session/session.h"
#include "ir/evaluate/difference.h"

namespace tuff {

struct CheckReport {
  double tolerance = 0;
  bool within = true;
  std::vector<Difference> outputs;
  std::string where;  // a sentence; empty iff within, or where nobody looked for the place
};

// Compares outputs of a run of `graph`, as imported, with the evaluator's.
Result<CheckReport> check_outputs(const Graph& graph, const std::vector<Literal>& arguments,
                                  const std::vector<Literal>& outputs);

// A sentence that names the first pass, or else the first node, whose result is not
// the evaluator's. Compiles the graph again with every group's result as an output.
Result<std::string> locate_difference(const Session& session, const Graph& graph,
                                      const std::vector<Literal>& arguments, double tolerance);

}  // namespace tuff
