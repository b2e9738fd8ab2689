// The runs behind `tuff profile`: a first run in phases, plain runs, runs whose steps
// are timed.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontend/cli/session.h"
#include "frontend/report/profile.h"
#include "frontend/session/device.h"

namespace tuff::cli {

struct ProfileRequest {
  std::string model;
  std::vector<std::string> inputs, shapes, disabled;
  std::string weights;
  std::optional<int64_t> runs;   // of each kind, plain and timed; > 0. None: as many as it takes
                                 // for medians that mean something
  std::optional<double> tune_s;  // seconds to measure schedules for before
  bool check = false;            // compare with the reference evaluator
  bool quiet = false;            // no progress
};

// Fills everything but the command line. Missing arguments get seeded data.
Result<Profile> profile_model(const DeviceChoice& choice, const ProfileRequest& request);

}  // namespace tuff::cli
