// THE walk: Graph -> passes -> groups -> kernels -> plan -> Program. Pure: needs
// the device's Caps, not the device, so any machine can compile for any other.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/profile.h"
#include "backend/program.h"
#include "backend/verify/asked.h"
#include "ir/caps.h"
#include "ir/graph.h"

namespace tuff {

struct CompileOptions {
  // Optional passes to leave out, by name ("group", "recognize", ...), and
  // "library_calls": matmul and convolution become kernels on the CPU too.
  std::set<std::string> disabled;
  // Called after each stop of the walk with its name and its text, but only for
  // names in `dump_after` ("import", a pass name, "lower", "glsl", "plan").
  std::set<std::string> dump_after;
  std::function<void(const std::string& stop, const std::string& text)> dump;
  Timeline* timeline = nullptr;  // one span per stop is added to it
  // The graph is verified after each pass, and kernels, memory plan and barriers once they
  // are made. What does not verify is an error that names the pass or the step.
  bool verify = verification_asked();
};

// A tensor that lives in the arena for a while.
struct Temporary {
  int64_t offset_bytes = 0, size_bytes = 0;
  int64_t first = 0, last = 0;  // places in the plan, both inclusive
  std::string owner;            // "128x768xf32 at model.py:12"
};

// Where the time went and what the plan says; filled by compile.
struct CompileReport {
  std::vector<PhaseTime> stops;  // in order of the walk: passes (some twice), lower, plan
  int64_t ops = 0;               // nodes after import, parameters and constants not counted
  int64_t groups = 0;            // fused groups = steps of the program
  int64_t kernels = 0;           // distinct kernels
  int64_t arguments_bytes = 0, outputs_bytes = 0, constants_bytes = 0;
  int64_t in_place_bytes = 0;  // of the outputs: those that may lie in donated arguments
  int64_t arena_bytes = 0;
  int64_t liveness_bytes = 0;  // lower bound: largest sum of live temporaries
  std::string arena_owner;     // the largest tensor alive at the peak
  std::vector<Temporary> temporaries;
  // What the device has no kernel for and its host runs: none silently. One entry per
  // hosted node.
  struct Hosted {
    std::vector<std::string> ops;
    std::string why, where;
    int64_t bytes = 0;  // copied to and from the host each time
  };
  std::vector<Hosted> hosted;

  // All memory of a run on the device that is given the donated arguments; what
  // Device::plan_packing tells comes on top, where there is room.
  int64_t peak_bytes() const {
    return arguments_bytes + outputs_bytes - in_place_bytes + constants_bytes + arena_bytes;
  }
};

Result<std::shared_ptr<const Program>> compile(const Graph& graph, const Caps& caps,
                                               const CompileOptions& options,
                                               CompileReport* report);

}  // namespace tuff
