// tuff profile: where the time of a model goes, step by step.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "frontend/bench/machine.h"
#include "frontend/cli/command.h"
#include "frontend/cli/options.h"
#include "frontend/cli/reporting.h"
#include "frontend/cli/terminal.h"
#include "frontend/cli/tuning.h"
#include "frontend/report/html.h"
#include "frontend/report/profile_run.h"
#include "frontend/weights/file.h"

namespace tuff::cli {

namespace {

constexpr size_t kShownRows = 12;

struct ProfileOptions {
  ProfileRequest request;
  std::string device = "auto", trace, report;
  std::vector<std::string> command, disabled;
  bool json = false;
};

// Steps that do the same, one kernel on one kind of operation or one library call; or a part
// of the run outside of its steps.
struct Row {
  std::string kernel, operation;  // the kernel's column is "call" for a library's
  double ms = 0, flops = 0, bytes = 0;
  int64_t runs = 0;
};

Row names_of(const Json& step) {
  std::string op = step["op"];
  if (step.contains("kernel"))
    return {.kernel = fmt::format("k{}", step["kernel"].get<int>()), .operation = op};
  std::string call = step["call"];
  if (!call.empty()) return {.kernel = "call", .operation = op + ": " + call};
  return {.kernel = step.contains("host") ? "host" : "copy", .operation = op};
}

std::vector<Row> rows_by_time(const Json& profile) {
  std::map<std::string, Row> rows;
  for (const Json& step : profile["steps"]) {
    Row of = names_of(step);
    Row& row = rows.try_emplace(of.operation + " " + of.kernel, of).first->second;
    row.ms += step["ms"].get<double>();
    row.flops += step["flops"].get<double>() * step["runs"].get<double>();
    row.bytes += (step["read_bytes"].get<double>() + step["written_bytes"].get<double>()) *
                 step["runs"].get<double>();
    row.runs += step["runs"].get<int64_t>();
  }
  std::vector<Row> sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  for (const Json& part : profile["outside"])
    sorted.push_back({.kernel = "-", .operation = part["name"], .ms = part["ms"]});
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Row& a, const Row& b) { return a.ms > b.ms; });
  return sorted;
}

// In billions a second.
double rate(double count, double ms) { return ms > 0 ? count / (1e6 * ms) : 0; }

// The time the roof allows over the time it took; nothing without a roof.
std::string roof_share(const Row& row, const std::optional<Roof>& roof) {
  if (!roof || row.ms <= 0 || row.runs == 0) return "-";
  double best_ms =
      std::max(row.flops / (1e6 * roof->f32_gflops), row.bytes / (1e6 * roof->copy_gbps));
  return fmt::format("{:.0f} %", 100 * best_ms / row.ms);
}

// The median over neighbouring runs of both kinds, which meet the same machine.
double timing_costs_percent(const Profile& profile) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(profile.timed_runs.size(), profile.steady_ms.size()); ++i)
    ratios.push_back(profile.timed_runs[i].ms / profile.steady_ms[i]);
  if (ratios.empty()) return 0;
  auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return 100 * (*middle - 1);
}

std::string text_of_profile(const Profile& profile, const Json& json) {
  double steps = json["steps_ms"], timed = json["timed_ms"]["typical"];
  double plain = json["steady_ms"]["typical"];
  std::string text = fmt::format("device  {}\n", profile.device);
  text += fmt::format("times   first {}  second {}  steady {} (median of {})\n",
                      format_ms(profile.first_ms), format_ms(profile.second_ms),
                      format_ms(json["steady_ms"]["median"]), profile.steady_ms.size());
  text += "phases ";
  for (const PhaseTime& phase : profile.phases)
    if (phase.ms >= 0.001 * profile.first_ms)
      text += fmt::format(" {} {} |", phase.name, format_ms(phase.ms));
  text.back() = '\n';
  text += fmt::format("run     {} when timed: {} steps {}", format_ms(timed), json["steps"].size(),
                      format_ms(steps));
  for (const Json& part : json["outside"])
    text += fmt::format(" | {} {}", part["name"].get<std::string>(), format_ms(part["ms"]));
  text += fmt::format("\n        steps are {:.1f} % of a plain run; timing costs {:+.1f} %\n",
                      100 * steps / plain, timing_costs_percent(profile));
  if (profile.others_cores > bench::kBusyCores)
    text += fmt::format("        the machine was busy: others kept {:.1f} cores\n",
                        profile.others_cores);
  text += profile.roof
              ? fmt::format("roof    {:.1f} GFLOP/s f32, {:.1f} GB/s (measured {})\n",
                            profile.roof->f32_gflops, profile.roof->copy_gbps, profile.roof->date)
              : std::string("roof    not measured on this device; `tuff roof` does\n");
  text += fmt::format("\n{:>10} {:>6} {:>6} {:>10} {:>9} {:>7} {:>6}  {}\n", "time", "share",
                      "runs", "GFLOP/s", "GB/s", "roof", "kernel", "operation");
  std::vector<Row> rows = rows_by_time(json);
  for (size_t i = 0; i < std::min(rows.size(), kShownRows); ++i) {
    const Row& row = rows[i];
    text += fmt::format("{:>10} {:>4.1f} % {:>6} {:>10.1f} {:>9.1f} {:>7} {:>6}  {}\n",
                        format_ms(row.ms), 100 * row.ms / timed, row.runs, rate(row.flops, row.ms),
                        rate(row.bytes, row.ms), roof_share(row, profile.roof), row.kernel,
                        row.operation);
  }
  if (rows.size() > kShownRows)
    text += fmt::format("and {} more; --json and --report have all\n", rows.size() - kShownRows);
  return text;
}

Status profile(const ProfileOptions& options) {
  if (options.request.runs && *options.request.runs <= 0)
    return Error{ErrorCode::kUsage, "The number of runs must be positive.", "--repeat"};
  TUFF_ASSIGN(DeviceSpec spec, parse_device(options.device));
  if (spec.kind == DeviceSpec::Kind::kReference)
    return Error{ErrorCode::kUsage,
                 "The reference evaluator has no steps to time; use auto, vulkan or cpu.",
                 "--device"};
  for (const std::string& path : {options.trace, options.report})
    TUFF_RETURN_IF_ERROR(check_output_file(path));
  TUFF_ASSIGN(DeviceChoice choice, choose_device(spec));
  TUFF_ASSIGN(Profile profile, profile_model(choice, options.request));
  profile.command = options.command;
  Json json = json_of_profile(profile);
  if (!options.trace.empty())
    TUFF_RETURN_IF_ERROR(write_file(options.trace, chrome_trace(profile).dump()));
  if (!options.report.empty()) {
    Json data = {{"profile", json}};
    data["profile"]["trace"] = chrome_trace(profile)["traceEvents"];
    TUFF_RETURN_IF_ERROR(write_file(options.report, render_report(data)));
  }
  if (options.json)
    print_json(json);
  else
    print_text(text_of_profile(profile, json));
  return {};
}

}  // namespace

void add_profile(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* command =
      app.add_subcommand("profile", "Show where the time of a model goes, step by step");
  ProfileRequest& request = options->request;
  add_model_option(*command, request.model);
  add_shape_option(*command, request.shapes);
  add_device_option(*command, options->device);
  add_packed_memory_option(*command);
  command
      ->add_option("--input", request.inputs,
                   "An argument's value; without NAME, the next input's. May be repeated")
      ->type_name("[NAME=]FILE.npy")
      ->allow_extra_args(false);
  command->add_option("--weights", request.weights, "Weights by name, instead of the bundle's own")
      ->type_name("F.safetensors");
  command
      ->add_option(
          "--repeat", request.runs,
          "Runs of each kind, plain and with steps timed (default: 5 to 50, short ones many)")
      ->type_name("N");
  command->add_option("--trace", options->trace, "Write a Chrome trace (for ui.perfetto.dev)")
      ->type_name("F.json");
  command->add_option("--report", options->report, "Write a page that needs nothing else")
      ->type_name("F.html");
  command->add_flag("--check", request.check, "Compare with the reference evaluator as well");
  add_disable_option(*command, options->disabled);
  add_tune_option(*command, request.tune_s);
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->callback([options, &chosen] {
    ProfileRequest& request = options->request;
    request.session = session_options(options->disabled, options->json);
    request.driver = !options->report.empty();
    request.seeded = report_seeded;
    request.tuned = [](const TuneReport& report) { print_note(summary_of(report)); };
    options->command = command_words();
    chosen = [options] { return profile(*options); };
  });
}

}  // namespace tuff::cli
