#include "frontend/cli/run_report.h"

#include <fmt/format.h>

#include <map>

#include "frontend/cli/terminal.h"
#include "frontend/report/output_summary.h"

namespace tuff::cli {

namespace {

int64_t hosted_ops(const Execution& e) {
  int64_t ops = 0;
  for (const CompileReport::Hosted& hosted : e.compile.hosted)
    ops += static_cast<int64_t>(hosted.ops.size());
  return ops;
}

// " (fft: no kernel; sort x2: ...)": operations of one name and reason together.
std::string hosted_text(const std::vector<CompileReport::Hosted>& hosted) {
  std::map<std::string, int> counts;
  for (const CompileReport::Hosted& one : hosted)
    for (const std::string& op : one.ops) ++counts[op + "\n" + one.why];
  std::vector<std::string> parts;
  for (const auto& [key, count] : counts) {
    size_t end = key.find('\n');
    parts.push_back(fmt::format("{}{}: {}", key.substr(0, end),
                                count > 1 ? fmt::format(" x{}", count) : "", key.substr(end + 1)));
  }
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, "; "));
}

std::string placement(const Execution& e) {
  auto kernels = e.compile.kernels;
  if (e.reference) return fmt::format("gpu 0 ops | cpu {} ops one by one (reference)", e.ops);
  if (e.gpu)
    return fmt::format("gpu {} ops in {} kernels | cpu {} ops{}", e.ops - hosted_ops(e), kernels,
                       hosted_ops(e), hosted_text(e.compile.hosted));
  return fmt::format("gpu 0 ops | cpu {} ops in {} kernels ({})", e.ops, kernels, e.why);
}

std::string times(const RunReport& report) {
  const Execution& e = report.execution;
  std::string text = fmt::format("first {}", format_ms(e.first_ms));
  if (!e.reference) text += fmt::format(" (compile {})", format_ms(e.compile_ms));
  if (e.second_ms) text += fmt::format("  second {}", format_ms(*e.second_ms));
  if (e.steady_ms) text += fmt::format("  steady {}", format_ms(*e.steady_ms));
  return text + fmt::format("  load {}", format_ms(report.load_ms));
}

Json optional_ms(const std::optional<double>& ms) { return ms ? Json(*ms) : Json(nullptr); }

Json json_of_check(const CheckReport& check) {
  Json outputs = Json::array();
  for (const Difference& d : check.outputs)
    outputs.push_back(
        {{"max_abs", d.max_abs}, {"max_rel", d.max_rel}, {"at", d.at}, {"within", d.within}});
  return {{"within", check.within},
          {"tolerance", check.tolerance},
          {"outputs", std::move(outputs)},
          {"where", check.where}};
}

}  // namespace

std::string RunReport::text() const {
  const Execution& e = execution;
  std::string text = fmt::format("device  {}\n", e.device);
  text += fmt::format("placed  {}\n", placement(e));
  text += fmt::format("times   {}\n", times(*this));
  if (!e.reference)
    text += fmt::format("work    {} dispatches in {} submits  arena {}  precision f32\n",
                        e.run.dispatches, e.run.submits, format_bytes(e.compile.arena_bytes));
  if (validation_errors > 0)
    text += fmt::format("vulkan  {} validation errors\n", validation_errors);
  for (size_t i = 0; i < e.outputs.size(); ++i) {
    text += "output  " + describe_output(output_names[i], e.outputs[i]) + "\n";
    if (!check) continue;
    const Difference& d = check->outputs[i];
    text += fmt::format(
        "check   {}  max abs {:.3g}  max rel {:.3g}  {}\n", output_names[i], d.max_abs, d.max_rel,
        d.within ? "ok" : fmt::format("DIFFERS (tolerance {:.0e})", check->tolerance));
  }
  if (!output_dir.empty())
    text += fmt::format("saved   {} files in {}\n", e.outputs.size(), output_dir);
  return text;
}

Json RunReport::json() const {
  const Execution& e = execution;
  Json json = {{"device", e.device},
               {"why", e.why},
               {"precision", "f32"},
               {"load_ms", load_ms},
               {"compile_ms", e.compile_ms},
               {"upload_ms", e.upload_ms},
               {"first_ms", e.first_ms},
               {"second_ms", optional_ms(e.second_ms)},
               {"steady_ms", optional_ms(e.steady_ms)},
               {"glsl_compiled", e.load.glsl_compiled},
               {"memory_hits", e.load.memory_hits},
               {"disk_hits", e.load.disk_hits},
               {"kernels", e.compile.kernels},
               {"dispatches", e.run.dispatches},
               {"submits", e.run.submits},
               {"readbacks", e.run.readbacks},
               {"gpu_ops", e.gpu ? e.ops - hosted_ops(e) : 0},
               {"cpu_ops", e.gpu ? hosted_ops(e) : e.ops},
               {"copied_bytes", e.run.copied_bytes},
               {"arena_bytes", e.compile.arena_bytes},
               {"validation_errors", validation_errors}};
  Json phases = Json::object();
  for (const auto& [phase, ms] : e.phases) phases[phase] = ms;
  json["phases_ms"] = std::move(phases);
  json["packed"] = Json::object();
  for (const auto& [kind, bytes] : e.run.packed) json["packed"][kind] = bytes;
  json["hosted"] = Json::array();
  for (const CompileReport::Hosted& hosted : e.compile.hosted)
    json["hosted"].push_back({{"ops", hosted.ops},
                              {"why", hosted.why},
                              {"where", hosted.where},
                              {"bytes", hosted.bytes}});
  Json outputs = Json::array();
  for (size_t i = 0; i < e.outputs.size(); ++i) {
    outputs.push_back(json_of_output(output_names[i], e.outputs[i]));
    if (!output_dir.empty()) outputs.back()["file"] = fmt::format("{}/out{}.npy", output_dir, i);
  }
  json["outputs"] = std::move(outputs);
  if (check) json["check"] = json_of_check(*check);
  return json;
}

}  // namespace tuff::cli
