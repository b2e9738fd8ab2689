#include "frontend/pjrt/log.h"

#include <fmt/format.h>

#include "frontend/cli/environment.h"
#include "frontend/cli/terminal.h"

namespace tuff::pjrt {

namespace {

using cli::format_ms;

// Read once: eager programs run in microseconds.
bool logs_compile() {
  static const bool enabled = cli::log_enabled("compile");
  return enabled;
}
bool logs_run() {
  static const bool enabled = cli::log_enabled("run");
  return enabled;
}

// ", group 812 ms, lower 90 ms": the stops that took a tenth of the whole or more.
std::string slow_stops(const CompileReport& report, double total_ms) {
  std::string text;
  for (const auto& [stop, ms] : report.stops)
    if (ms >= total_ms / 10) text += fmt::format(", {} {}", stop, format_ms(ms));
  return text;
}

}  // namespace

void log_compiled(const Compiled& compiled, const LogClock& since) {
  if (!logs_compile()) return;
  const CompileReport& report = compiled.report;
  double ms = since.ms();
  cli::print_note(fmt::format("compile {} {}: {} ops in {} groups, {} kernels{}",
                              compiled.graph->name, format_ms(ms), report.ops, report.groups,
                              report.kernels, slow_stops(report, ms)));
  for (const CompileReport::Hosted& hosted : report.hosted)
    cli::print_note(fmt::format("compile {}: the host runs {} ({}): {}", compiled.graph->name,
                                fmt::join(hosted.ops, ", "), hosted.where, hosted.why));
}

void log_loaded(const Loaded& loaded, const LogClock& since) {
  if (!logs_compile()) return;
  const LoadStats& stats = loaded.loaded->stats();
  cli::print_note(fmt::format(
      "load {} {}: {} kernels, {} compiled from GLSL, {} from disk, {} known; emit {}, glsl {}, "
      "pipelines {}, prepare {}",
      loaded.compiled->graph->name, format_ms(since.ms()), stats.kernels, stats.glsl_compiled,
      stats.disk_hits, stats.memory_hits, format_ms(stats.emit_ms), format_ms(stats.glsl_ms),
      format_ms(stats.pipeline_ms), format_ms(stats.prepare_ms)));
}

void log_run(const Loaded& loaded, const LogClock& since) {
  if (!logs_run()) return;
  cli::print_note(fmt::format("run {} {}", loaded.compiled->graph->name, format_ms(since.ms())));
}

void log_spread(const std::string& name, const SegmentedProgram& program, size_t num_devices) {
  if (!logs_compile()) return;
  cli::print_note(fmt::format(
      "spread {} over {} devices: {} segments, {} collectives, each device gives {} bytes", name,
      num_devices, program.segments.size(), program.num_collectives(), program.exchanged_bytes()));
}

void log_exchange(const std::string& name, size_t device, const Segment& segment,
                  const LogClock& since) {
  if (!logs_run()) return;
  int64_t bytes = 0;
  for (const Exchange& exchange : segment.exchanges) bytes += exchange.operand_type.size_bytes();
  cli::print_note(fmt::format("exchange {} {}: device {} gives {} bytes to {} collectives", name,
                              format_ms(since.ms()), device, bytes, segment.exchanges.size()));
}

}  // namespace tuff::pjrt
