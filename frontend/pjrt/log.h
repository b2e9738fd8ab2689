// What TUFF_LOG asks to be told on stderr, one line each: the programs compiled, with
// where their time went ("compile"), and each run of one ("run").
#pragma once

#include <chrono>

#include "frontend/pjrt/program_cache.h"
#include "ir/spmd/segments.h"

namespace tuff::pjrt {

// Measures from its construction on.
class LogClock {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

void log_compiled(const Compiled& compiled, const LogClock& since);
void log_loaded(const Loaded& loaded, const LogClock& since);
void log_run(const Loaded& loaded, const LogClock& since);
// A program over several devices, and what one of them gives and takes between segments.
void log_spread(const std::string& name, const SegmentedProgram& program, size_t num_devices);
void log_exchange(const std::string& name, size_t device, const Segment& segment,
                  const LogClock& since);

}  // namespace tuff::pjrt
