// Profile: what `tuff profile` found out about one model on one device, as JSON (format
// tuff-profile-1) and as a Chrome trace.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "backend/compile.h"
#include "backend/driver_statistics.h"
#include "backend/executable.h"
#include "backend/roof.h"

namespace tuff {

// Keys stay in the order in which they are set.
using Json = nlohmann::ordered_json;

// One run whose steps were timed.
struct TimedRun {
  double start_us = 0;  // on the timeline; its steps' times count from here
  double ms = 0;
  RunStats stats;
};

struct Profile {
  std::string model;                 // as given on the command line
  std::vector<std::string> command;  // that repeats this
  std::string date;                  // "2026-11-21T20:00:00Z"
  std::string device, why;           // its description; why this one
  std::string cpu, system;           // of the host
  int64_t cores = 0;
  bool gpu = false;
  std::string precision;            // of the model's matmuls: "f32"
  std::vector<std::string> seeded;  // arguments that were made up
  std::string drivers;              // environment that chooses the driver; may be empty

  std::shared_ptr<const Program> program;
  std::vector<DriverKernel> driver_kernels;  // one per kernel, or none: the driver was not asked
  std::string no_driver_kernels;             // why it does not tell; empty otherwise
  std::vector<std::string> kernel_texts;  // one per kernel: GLSL, on the CPU the kernel's own text
  CompileReport compile;
  LoadStats load;
  std::vector<PhaseTime> phases;                                     // of the first run
  double import_ms = 0, upload_ms = 0, first_ms = 0, second_ms = 0;  // first_ms: without upload
  std::vector<double> steady_ms;     // runs that were not timed step by step
  std::vector<TimedRun> timed_runs;  // never empty
  double others_cores = 0;           // that other processes kept busy meanwhile
  std::vector<Span> spans;           // of the host
  std::optional<Roof> roof;          // none: not measured on this device

  Json outputs;               // a summary per output
  bool repeatable = true;     // all runs gave the same bits
  std::optional<Json> check;  // against the reference evaluator, where asked for
};

Json json_of_profile(const Profile& profile);

// A Chrome trace (JSON object format): what the host did while compiling, loading and
// running, its worker threads, and the device's steps below the runs.
Json chrome_trace(const Profile& profile);

}  // namespace tuff
