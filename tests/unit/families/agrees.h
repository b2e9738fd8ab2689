// Programs of rows against the reference evaluator.
#pragma once

#include <string>

#include "tests/models/run_model.h"

namespace tuff::test {

// Arguments are waves of 2.5 around `mean`. The first result must be the evaluator's of `graph`, as
// near as layer norms are. `what` names the case in failures.
void expect_agrees(Executable& executable, const Graph& graph, double mean,
                   const std::string& what);

}  // namespace tuff::test
