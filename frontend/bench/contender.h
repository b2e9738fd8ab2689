// One system's process while a workload is measured, and its entry in the results.
#pragma once

#include <optional>
#include <string>

#include "frontend/bench/bundle.h"
#include "frontend/bench/statistics.h"
#include "frontend/bench/system.h"

namespace tuff::bench {

// The kind of trouble that is nobody's fault.
inline constexpr const char* kInterruptedKind = "interrupted";

// Why a system is out, as FORMAT.md's "error".
struct TroubleText {
  std::string kind, stage, message;
};
using Trouble = std::optional<TroubleText>;

struct ContenderOptions {
  std::chrono::milliseconds timeout;
  Interrupted interrupted;
  std::string scratch;  // logs go there
};

class Contender {
 public:
  // `entry` is filled with what is measured; it must outlive the contender.
  Contender(const System& system, Json& entry, ContenderOptions options)
      : system_(system), entry_(entry), options_(std::move(options)) {}

  const System& system() const { return system_; }
  Json& entry() { return entry_; }
  const Json& greeting() const { return greeting_; }
  Worker& worker() { return *worker_; }
  bool failed() const { return failed_; }
  void fail(const TroubleText& trouble);

  // In this order.
  Trouble start(const std::string& caches, DriverCache driver);
  Trouble load(const std::string& bundle);
  // Compiles from scratch and runs; a run of the entry under this mode, or of no
  // interest if the mode is empty.
  Trouble first_run(const std::string& mode);
  Trouble write_outputs(const std::string& directory);

  // Bursts of steady state after begin_rounds(); the process sleeps in between.
  void begin_rounds() { bursts_.clear(), rounds_ms_ = 0; }
  double rounds_ms() const { return rounds_ms_; }
  // Cores that others kept busy meanwhile, where the burst was long enough to tell.
  std::optional<double> burst(std::chrono::milliseconds length);
  const Bursts& bursts() const { return bursts_; }

  // Writes steady state and memory into the entry.
  void record();
  // Ends the process; caches are written.
  void end();

 private:
  Trouble ask(const char* stage, const Json& request, Json* value);

  const System& system_;
  Json& entry_;
  ContenderOptions options_;
  std::unique_ptr<Worker> worker_;
  Json greeting_;
  double start_ms_ = 0, upload_ms_ = 0, rounds_ms_ = 0;
  Bursts bursts_, all_bursts_;
  bool failed_ = false;
};

}  // namespace tuff::bench
