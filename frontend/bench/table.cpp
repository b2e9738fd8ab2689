#include "frontend/bench/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "frontend/bench/names.h"

namespace tuff::bench {

namespace {

using Row = std::vector<std::string>;
constexpr const char* kNothing = "-";

// Columns as wide as their widest cell, the first one left, the others right.
std::string align(const std::vector<Row>& rows, TableStyle style) {
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  bool markdown = style == TableStyle::kMarkdown;
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i < rows[r].size(); ++i) {
      text += markdown ? "| " : i == 0 ? " " : "  ";
      text += i == 0 ? fmt::format("{:<{}}", rows[r][i], widths[i])
                     : fmt::format("{:>{}}", rows[r][i], widths[i]);
      if (markdown) text += " ";
    }
    text += markdown ? "|\n" : "\n";
    if (r > 0 || !markdown) continue;
    for (size_t i = 0; i < widths.size(); ++i)
      text += "|" + std::string(widths[i] + 1, '-') + (i == 0 ? "-" : ":");
    text += "|\n";
  }
  return text;
}

const Json* run_of(const Json& system, const std::string& mode) {
  if (!system.contains("runs")) return nullptr;
  for (const Json& run : system["runs"])
    if (run.value("mode", "") == mode) return &run;
  return nullptr;
}

std::string first_ms(const Json& system, const std::string& mode) {
  const Json* run = run_of(system, mode);
  return run ? short_ms(run->value("first_ms", 0.0)) : kNothing;
}

std::string ratio_text(const Json& system) {
  if (!system.contains("ratio")) return kNothing;
  const Json& ratio = system["ratio"];
  return fmt::format("{:.2f} ({:.2f}-{:.2f})", ratio.value("value", 0.0), ratio.value("low", 0.0),
                     ratio.value("high", 0.0));
}

std::string mib_text(const Json& system, const char* key) {
  if (!system.contains(key)) return kNothing;
  return fmt::format("{:.0f} MiB", system[key].get<double>() / (1 << 20));
}

Row system_row(const Json& system) {
  Row row = {system.value("system", "?")};
  for (const char* mode : {"cold", "warm-disk", "warm-process", "new-shape"})
    row.push_back(first_ms(system, mode));
  const Json* cold = run_of(system, "cold");
  row.push_back(cold && cold->contains("second_ms") ? short_ms((*cold)["second_ms"]) : kNothing);
  for (const char* key : {"median", "p90", "p99"})
    row.push_back(system.contains("steady") ? short_ms(system["steady"].value(key, 0.0))
                                            : kNothing);
  row.push_back(ratio_text(system));
  row.push_back(system.contains("break_even")
                    ? fmt::format("{}", system["break_even"].value("runs", int64_t{0}))
                    : kNothing);
  row.push_back(mib_text(system, "peak_host_bytes"));
  row.push_back(mib_text(system, "peak_device_bytes"));
  return row;
}

std::string phases_text(const Json& run) {
  std::string text;
  for (const auto& [phase, ms] : run["phases"].items())
    text += fmt::format("{}{} {}", text.empty() ? "" : " | ", phase, short_ms(ms));
  return text;
}

std::string counts_text(const Json& run) {
  if (!run.contains("kernels")) return "";
  return fmt::format("; {} kernels ({} compiled, {} reused), {} dispatches",
                     run.value("kernels", 0), run.value("kernels_compiled", 0),
                     run.value("kernels_reused", 0), run.value("dispatches", 0));
}

// The beginning of a message on one line; results hold all of it.
std::string first_words(std::string message) {
  constexpr size_t kShown = 240;
  std::replace(message.begin(), message.end(), '\n', ' ');
  if (message.size() <= kShown) return message;
  size_t end = kShown;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) --end;  // in UTF-8
  return message.substr(0, end) + " ...";
}

// What the table has no column for.
std::vector<std::string> remarks(const Json& workload, const Json& system) {
  std::vector<std::string> lines;
  std::string name = system.value("system", "?");
  if (system.contains("error"))
    lines.push_back(fmt::format("{}: {} ({}): {}", name, system["error"].value("kind", ""),
                                system["error"].value("stage", ""),
                                first_words(system["error"].value("message", ""))));
  if (const Json* cold = run_of(system, "cold"); cold && cold->contains("phases"))
    lines.push_back(fmt::format("{} cold: {}{}", name, phases_text(*cold), counts_text(*cold)));
  if (workload.contains("precision") && system.contains("precision") &&
      system["precision"] != workload["precision"])
    lines.push_back(fmt::format("{}: computes in {}", name, system.value("precision", "")));
  if (system.contains("published"))
    lines.push_back(name + ": " + system["published"].value("note", ""));
  if (system.contains("notes"))
    for (const Json& note : system["notes"]) lines.push_back(name + ": " + note.get<std::string>());
  return lines;
}

std::string heading(const Json& workload, TableStyle style) {
  std::string text = workload.value("name", "?");
  if (workload.contains("batch")) text += fmt::format("  batch {}", workload.value("batch", 0));
  if (workload.contains("seq")) text += fmt::format(" seq {}", workload.value("seq", 0));
  if (workload.contains("precision")) text += "  precision " + workload.value("precision", "");
  if (workload.contains("weights")) text += "  weights " + workload.value("weights", "");
  return (style == TableStyle::kMarkdown ? "\n### " : "\n") + text + "\n\n";
}

std::string workload_text(const Json& workload, TableStyle style) {
  std::string bullet = style == TableStyle::kMarkdown ? "- " : " ";
  std::string text = heading(workload, style);
  if (workload.contains("error")) return text + bullet + workload.value("error", "") + "\n";
  std::vector<Row> rows = {{"system", "first (cold)", "warm disk", "warm process", "new shape",
                            "second", "steady p50", "p90", "p99",
                            "steady / " + workload.value("against", ""), "break-even", "peak host",
                            "device"}};
  for (const Json& system : workload["systems"]) rows.push_back(system_row(system));
  text += align(rows, style) + "\n";
  for (const Json& system : workload["systems"])
    for (const std::string& remark : remarks(workload, system)) text += bullet + remark + "\n";
  if (workload.contains("warnings"))
    for (const Json& warning : workload["warnings"])
      text += bullet + "warning: " + warning.get<std::string>() + "\n";
  return text;
}

// One system on one workload: "38.6 ms / 0.98 ms / 0.57 ms", or what is wrong with it.
std::string three_times(const Json& system) {
  if (system.contains("error")) return system["error"].value("kind", "failed");
  const Json* cold = run_of(system, "cold");
  if (!cold || !system.contains("steady")) return kNothing;
  return fmt::format("{} / {} / {}", short_ms(cold->value("first_ms", 0.0)),
                     short_ms(cold->value("second_ms", 0.0)),
                     short_ms(system["steady"].value("median", 0.0)));
}

// All workloads at a glance.
std::string overview(const Json& workloads, TableStyle style) {
  std::vector<Row> rows = {{"first / second / steady"}};
  std::vector<std::string> titles = workload_titles(workloads);
  for (size_t i = 0; i < workloads.size(); ++i) {
    const Json& workload = workloads[i];
    if (workload["systems"].empty()) continue;  // it has an error, which is told below
    Row row = {titles[i]}, names = {rows[0][0]};
    for (const Json& system : workload["systems"]) {
      names.push_back(system.value("system", "?"));
      row.push_back(three_times(system));
    }
    rows[0] = names;  // the same for all
    rows.push_back(std::move(row));
  }
  return rows.size() < 3 ? "" : "\n" + align(rows, style);
}

std::string machine_text(const Json& environment) {
  std::string text = fmt::format("{}  {}, {} of {} cores, {}\n", environment.value("date", ""),
                                 environment.value("cpu", ""), environment.value("threads", 0),
                                 environment.value("cores", 0), environment.value("system", ""));
  if (environment.contains("versions")) {
    text += "versions:";
    for (const auto& [name, version] : environment["versions"].items())
      text += fmt::format(" {} {}", name, version.get<std::string>());
    text += "\n";
  }
  if (environment.contains("devices"))
    for (const auto& [name, device] : environment["devices"].items())
      text += fmt::format("{}: {}\n", name, device.get<std::string>());
  return text;
}

}  // namespace

std::string short_ms(double ms) {
  bool seconds = ms >= 999.5;
  double value = seconds ? ms / 1e3 : ms;
  int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.9995 ? 2 : 3;
  return fmt::format("{:.{}f} {}", value, decimals, seconds ? "s" : "ms");
}

std::string results_table(const Json& results, TableStyle style) {
  std::string text = machine_text(results["environment"]);
  if (results.value("interrupted", false)) text += "interrupted: the results are partial\n";
  text += overview(results["workloads"], style);
  for (const Json& workload : results["workloads"]) text += workload_text(workload, style);
  return text;
}

}  // namespace tuff::bench
