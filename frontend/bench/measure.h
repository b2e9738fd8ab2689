// One workload on all systems: first runs in fresh processes, outputs checked, then
// steady state in interleaved bursts, then what caches and other shapes change.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontend/bench/bundle.h"
#include "frontend/bench/system.h"

namespace tuff::bench {

// Modes beside "cold", which is always measured.
inline const std::set<std::string> kOtherModes = {"warm-disk", "warm-process", "new-shape"};

struct Settings {
  std::vector<System> systems;  // the order of the results
  std::string against;          // the denominator of ratios; first among equals as reference
  std::set<std::string> modes = kOtherModes;
  std::optional<double> tolerance = {};  // of outputs; none: what the workload says
  int64_t rounds = 7;
  std::chrono::milliseconds burst{300};
  std::chrono::milliseconds budget{8000};  // of one system's bursts; 3 rounds in any case
  std::chrono::milliseconds timeout{300000};
  Json published;  // workload -> system -> steady time / JAX's
  Interrupted interrupted;
  std::function<void(const std::string&)> say;  // progress, one line each
};

// How the samples were taken, for readers: FORMAT.md's "policy".
Json describe_policy(const Settings& settings);

// Fills `result` (FORMAT.md's WORKLOAD) as it goes, so that it is valid whenever this
// returns, and environment's versions and devices. `scratch` is an empty directory.
// What goes wrong with a system is in its entry. Errors: kInterrupted.
Status measure(const Settings& settings, const Bundle& bundle, const std::string& scratch,
               Json& environment, Json& result);

}  // namespace tuff::bench
