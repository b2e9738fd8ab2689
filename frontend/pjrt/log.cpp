#include "frontend/pjrt/log.h"

#include <fmt/format.h>

#include <cstdio>

#include "frontend/session/environment.h"

namespace tuff::pjrt {

namespace {

void print_note(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

// Read once: eager programs run in microseconds.
bool logs_compile() {
  static const bool enabled = log_enabled("compile");
  return enabled;
}
bool logs_run() {
  static const bool enabled = log_enabled("run");
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

void log_warning(const std::string& sentence) { print_note("warning: " + sentence); }

void log_compiled(const Compiled& compiled, const Timer& since) {
  if (!logs_compile()) return;
  const CompileReport& report = compiled.report;
  double ms = since.ms();
  print_note(fmt::format("compile {} {}: {} ops in {} groups, {} kernels{}", compiled.graph->name,
                         format_ms(ms), report.ops, report.groups, report.kernels,
                         slow_stops(report, ms)));
  for (const CompileReport::Hosted& hosted : report.hosted)
    print_note(fmt::format("compile {}: the host runs {} ({}): {}", compiled.graph->name,
                           fmt::join(hosted.ops, ", "), hosted.where, hosted.why));
}

void log_loaded(const Loaded& loaded, const Timer& since) {
  if (!logs_compile()) return;
  const LoadStats& stats = loaded.loaded->stats();
  print_note(fmt::format(
      "load {} {}: {} kernels, {} compiled from GLSL, {} from disk, {} known; emit {}, glsl {}, "
      "pipelines {}, prepare {}",
      loaded.compiled->graph->name, format_ms(since.ms()), stats.kernels, stats.glsl_compiled,
      stats.disk_hits, stats.memory_hits, format_ms(stats.emit_ms), format_ms(stats.glsl_ms),
      format_ms(stats.pipeline_ms), format_ms(stats.prepare_ms)));
}

void log_run(const Loaded& loaded, const Timer& since) {
  if (!logs_run()) return;
  print_note(fmt::format("run {} {}", loaded.compiled->graph->name, format_ms(since.ms())));
}

void log_spread(const std::string& name, const SegmentedProgram& program, size_t num_devices) {
  if (!logs_compile()) return;
  print_note(fmt::format(
      "spread {} over {} devices: {} segments, {} collectives, each device gives {} bytes", name,
      num_devices, program.segments.size(), program.num_collectives(), program.exchanged_bytes()));
}

void log_exchange(const std::string& name, size_t device, const Segment& segment,
                  const Timer& since) {
  if (!logs_run()) return;
  print_note(fmt::format("exchange {} {}: device {} gives {} bytes to {} collectives", name,
                         format_ms(since.ms()), device, segment.sent_bytes(),
                         segment.exchanges.size()));
}

void log_share(const std::string& name, size_t device, const Timer& since, double waited_ms) {
  if (!logs_run()) return;
  double ms = since.ms();
  print_note(fmt::format("share {} {}: device {} waits {} for exchanges, {:.0f} % of it", name,
                         format_ms(ms), device, format_ms(waited_ms), 100 * waited_ms / ms));
}

}  // namespace tuff::pjrt
