// What TUFF_LOG asks to be told on stderr, one line each: the programs compiled, with
// where their time went ("compile"), and each run of one ("run").
#pragma once

#include "frontend/pjrt/program_cache.h"
#include "frontend/session/measure.h"
#include "ir/spmd/segments.h"

namespace tuff::pjrt {

// What a user should know in any case.
void log_warning(const std::string& sentence);

void log_compiled(const Compiled& compiled, const Timer& since);
void log_loaded(const Loaded& loaded, const Timer& since);
void log_run(const Loaded& loaded, const Timer& since);
// A program over several devices, and what one of them gives and takes between segments.
void log_spread(const std::string& name, const SegmentedProgram& program, size_t num_devices);
void log_exchange(const std::string& name, size_t device, const Segment& segment,
                  const Timer& since);
// A device's share of a run, and how long it did nothing in it but wait for exchanges.
void log_share(const std::string& name, size_t device, const Timer& since, double waited_ms);

}  // namespace tuff::pjrt
