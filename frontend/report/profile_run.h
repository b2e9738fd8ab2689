// The runs behind `tuff profile`: a first run in phases, plain runs, runs whose steps
// are timed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/tune.h"
#include "frontend/report/profile.h"
#include "frontend/session/arguments.h"
#include "frontend/session/session.h"

namespace tuff {

struct ProfileRequest {
  std::string model;
  std::vector<std::string> inputs, shapes;
  std::string weights;
  std::optional<int64_t> runs;   // of each kind, plain and timed; > 0. None: as many as it takes
                                 // for medians that mean something
  std::optional<double> tune_s;  // seconds to measure schedules for before
  bool check = false;            // compare with the reference evaluator
  bool driver = false;           // ask a GPU's driver what it made of each kernel
  SessionOptions session;        // its timeline is the profile's
  // Told, before the runs: what was made up, and what tuning found.
  std::function<void(const ArgumentValues&)> seeded;
  std::function<void(const TuneReport&)> tuned;
};

// Fills everything but the command line. Missing arguments get seeded data.
Result<Profile> profile_model(const DeviceChoice& choice, const ProfileRequest& request);

}  // namespace tuff
