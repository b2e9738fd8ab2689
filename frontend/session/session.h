// Session: a device that is open, and how graphs come to run on it. LoadedModel: one that does.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/compile.h"
#include "backend/executable.h"
#include "frontend/session/device.h"

namespace tuff {

using ProgressFn = std::function<void(int64_t done, int64_t total)>;

// What the user of a session is told, and asked; each may be empty. Called on the thread that
// called the session, but for what `progress` gives.
struct SessionHooks {
  std::function<Status()> check;  // between long steps: its error ends the work
  std::function<void(const std::string& sentence)> warn;
  // A line under a topic of TUFF_LOG.
  std::function<void(const char* topic, const std::string& line)> log;
  // A phase begins, of so many of a unit ("compile", "kernels"). What it gives is called from any
  // thread, and dropped when the phase ends.
  std::function<ProgressFn(const char* phase, const char* unit)> progress;
  // Work of unknown length begins ("passes"); it has ended when what this gives is gone.
  std::function<std::shared_ptr<void>(const char* what)> activity;

  std::shared_ptr<void> begin(const char* what) const {
    return activity ? activity(what) : nullptr;
  }
};

struct SessionOptions {
  std::set<std::string> disabled;  // as CompileOptions has it
  bool require_gpu = false;        // what would not run on Vulkan is kFallbackRefused
  std::string dump_directory;      // each stop of the compiler is written there; empty: none
  Timeline* timeline = nullptr;    // outlives the session
  SessionHooks hooks;
  KernelCodePtr code;  // as LoadOptions has it
  // As OpenOptions has them.
  std::optional<CachePtr> cache;
  HostAllocatorPtr allocator;

  OpenOptions open() const { return {timeline, hooks.warn, cache, allocator}; }
};

// Names of the stops of the walk, in order, each once: import, the passes, lower,
// glsl, plan.
std::vector<std::string> stop_names();

// compile() with what the options ask for. `report` may be null.
Result<std::shared_ptr<const Program>> compile_model(const Graph& graph, const Caps& caps,
                                                     const SessionOptions& options,
                                                     CompileReport* report);

// A graph made ready on a device, with its arguments and outputs there. Keeps the device alive.
// For one thread at a time; several on one device may run at once.
class LoadedModel {
 public:
  const Program& program() const { return executable_.program(); }
  const std::shared_ptr<const Program>& shared_program() const { return program_; }
  const CompileReport& report() const { return report_; }
  const LoadStats& load_stats() const { return executable_.load_stats(); }

  // One value per argument of the program, in order.
  Status set_arguments(const std::vector<Literal>& values);
  // Sets again what a run has used up (LoadOptions::donate).
  Status restore_arguments(const std::vector<Literal>& values);
  // With the arguments set. `stats` may be null.
  Status run(RunStats* stats) { return executable_.run(stats); }
  // Of the last run.
  Result<std::vector<Literal>> outputs();

 private:
  friend class Session;
  LoadedModel(std::shared_ptr<Device> device, std::shared_ptr<const Program> program,
              CompileReport report, Executable executable);

  std::shared_ptr<Device> device_;  // before the executable: destroyed after it
  std::shared_ptr<const Program> program_;
  CompileReport report_;
  Executable executable_;
};

// Immutable but for fall_back; all other functions may be called from any thread as far as the
// hooks may.
class Session {
 public:
  // Errors: as choose_device and open_device have them.
  static Result<Session> open(const DeviceSpec& spec, SessionOptions options);
  static Result<Session> open(const DeviceChoice& choice, SessionOptions options);
  // On the application's own device. Errors: as adopt_device has them.
  static Result<Session> adopt(const GivenDevice& given, SessionOptions options);

  const DeviceChoice& choice() const { return choice_; }
  const SessionOptions& options() const { return options_; }
  // True iff the reference evaluator was chosen, which is no device and loads nothing.
  bool is_reference() const { return !device_; }
  Device& device() const { return *device_; }  // not of the reference

  // compile_model for this device.
  Result<std::shared_ptr<const Program>> compile(const Graph& graph, CompileReport* report) const {
    return compile_model(graph, device_->caps(), options_, report);
  }
  // Compiles and loads. Of `how`, progress and timeline are the session's own.
  Result<LoadedModel> load(const Graph& graph, LoadOptions how = {}) const;

  // With a choice that was left to tuff: closes the device and opens the CPU, for `why`. False
  // where the user chose.
  Result<bool> fall_back(const std::string& why);

 private:
  Session() = default;

  bool chosen_by_user_ = true;
  DeviceChoice choice_;
  SessionOptions options_;
  std::shared_ptr<Device> device_;  // null iff the choice is the reference
};

}  // namespace tuff
