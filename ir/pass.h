// Passes: pure functions from Graph to Graph, the table of them, the order in
// which they run, and the runner that names, disables, times, dumps and verifies.
// A pass does none of that itself.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/caps.h"
#include "ir/graph.h"

namespace tuff {

// A device without limits: what a graph is compiled for where none is meant yet.
inline const Caps kNoLimits;

// What a pass may know besides its graph.
struct PassContext {
  // Limits the graph will run under; never null.
  const Caps* caps = &kNoLimits;
  // Computes one node from the values of its operands: the reference evaluator,
  // given from outside because it is built on top of this library. Empty: passes
  // that need it change nothing.
  std::function<Result<std::vector<Literal>>(const Node&, const std::vector<Literal>&)>
      evaluate_node = {};
};

// The graph it returns verifies, computes the same, and is left alone by a
// second run of the same pass.
using PassFn = Result<Graph> (*)(const Graph&, const PassContext&);

struct Pass {
  const char* name;  // also the flag of --disable, the file and the test folder
  PassFn run;
  bool optional;    // true iff --disable may take it away
  const char* doc;  // one sentence
};

// One step of the pipeline; a pass may stand in it more than once.
struct PassStep {
  const char* pass;
  const char* why_here;  // the order constraint
};

std::span<const Pass> pass_table();
std::span<const PassStep> pass_order();
const Pass* find_pass(std::string_view name);

struct PassRunOptions {
  std::set<std::string> disabled = {};
  // Names of optional steps outside this table that `disabled` may hold as well
  // (library_calls belongs to lowering).
  std::vector<const char*> other_names = {};
  // Verify after each pass (and the input before the first).
#ifdef NDEBUG
  bool verify_each = false;
#else
  bool verify_each = true;
#endif
  // Called after each step that ran; `changed` is false when the graph is the same.
  std::function<void(const char* pass, const Graph& before, const Graph& after, bool changed)>
      on_step = {};
  // Called after each step that ran with the seconds it took.
  std::function<void(const char* pass, double seconds)> on_time = {};
};

// Checks the names a user gave to --disable: unknown or required ones are an
// error that lists the valid names; `others` are valid too.
Status check_disabled(const std::set<std::string>& disabled,
                      std::span<const char* const> others = {});

// Runs one pass with the options' checks and callbacks.
Result<Graph> run_pass(const Pass& pass, const Graph& graph, const PassContext& context,
                       const PassRunOptions& options = {});

// Runs pass_order() over the graph.
Result<Graph> run_passes(Graph graph, const PassContext& context,
                         const PassRunOptions& options = {});

}  // namespace tuff
