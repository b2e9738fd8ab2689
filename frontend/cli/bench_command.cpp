// tuff bench: compile time against steady state, beside the peers; tuff bench compare.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "frontend/bench/compare.h"
#include "frontend/bench/machine.h"
#include "frontend/bench/session.h"
#include "frontend/bench/table.h"
#include "frontend/cli/bench_directory.h"
#include "frontend/cli/command.h"
#include "frontend/cli/interrupt.h"
#include "frontend/cli/options.h"
#include "frontend/cli/reporting.h"
#include "frontend/cli/terminal.h"
#include "frontend/report/html.h"
#include "frontend/session/device.h"
#include "frontend/weights/file.h"

namespace tuff::cli {

namespace {

// For partial results, on a machine that may be very busy.
constexpr unsigned kSecondsToEnd = 15;

struct BenchOptions {
  std::vector<std::string> names, devices = {"auto"}, peers, sweep;
  bench::ModelShapes shapes;
  std::optional<double> tolerance;
  std::vector<std::string> modes = {bench::kOtherModes.begin(), bench::kOtherModes.end()};
  std::string against, json_path, report_path, python = "python3", directory = bench_directory();
  int64_t rounds = bench::Settings().rounds, burst_ms = bench::Settings().burst.count(),
          threads = 0;
  double timeout_s = 300;
  bool markdown = false;
};

// "auto" and "vulkan" become the device that they mean here.
Result<std::string> device_word(std::string text) {
  std::string suffix;
  if (text.ends_with(bench::kUnfused)) {
    suffix = bench::kUnfused;
    text.resize(text.size() - suffix.size());
  }
  TUFF_ASSIGN(DeviceSpec spec, parse_device(text));
  if (spec.kind == DeviceSpec::Kind::kReference)
    return Error{ErrorCode::kUsage, "The reference evaluator is not for timing.", "--device"};
  if (spec.kind != DeviceSpec::Kind::kAuto) return text + suffix;
  TUFF_ASSIGN(DeviceChoice choice, choose_device(spec));
  bool cpu = choice.kind == DeviceSpec::Kind::kCpu;
  return (cpu ? std::string("cpu") : fmt::format("vulkan:{}", choice.index)) + suffix;
}

Result<std::vector<bench::System>> make_systems(const BenchOptions& options,
                                                const bench::SystemOptions& system_options) {
  std::vector<bench::System> systems;
  for (const std::string& device : options.devices) {
    TUFF_ASSIGN(std::string word, device_word(device));
    systems.push_back(bench::own_system(system_options, word));
  }
  std::vector<std::string> peers = options.peers;
  if (peers == std::vector<std::string>{"all"}) peers = bench::peer_names(system_options.directory);
  for (const std::string& peer : peers) {
    TUFF_ASSIGN(bench::System system, bench::peer_system(system_options, peer));
    systems.push_back(std::move(system));
  }
  return systems;
}

// What the user asked for; else JAX, which the published ratios refer to; else the first.
Result<std::string> baseline(const std::string& asked, const std::vector<bench::System>& systems) {
  auto has = [&](const std::string& name) {
    return std::any_of(systems.begin(), systems.end(),
                       [&](const bench::System& system) { return system.name == name; });
  };
  if (!asked.empty() && !has(asked))
    return Error{
        ErrorCode::kUsage,
        fmt::format("The system ({}) is not measured here, so there is no ratio to it.", asked),
        "--against"};
  return !asked.empty() ? asked : has("jax") ? std::string("jax") : systems[0].name;
}

Result<bench::SystemOptions> system_options(const BenchOptions& options) {
  bench::SystemOptions system_options;
  std::error_code error;
  system_options.self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  system_options.python = options.python;
  system_options.directory = std::filesystem::absolute(options.directory).string();
  if (!std::filesystem::is_directory(system_options.directory))
    return Error{ErrorCode::kUsage, "There is no such directory with workloads and peers.",
                 system_options.directory};
  system_options.cpus = bench::allowed_cpus(options.threads);
  system_options.threads = static_cast<int64_t>(system_options.cpus.size());
  return system_options;
}

Status bench_workloads(const BenchOptions& options) {
  if (options.names.empty())
    return Error{ErrorCode::kUsage,
                 "There is nothing to measure; give workloads, sets (bench/README.md) or models.",
                 "bench"};
  bench::SessionOptions session;
  session.names = options.names;
  session.shapes = options.shapes;
  session.command = command_words();
  for (const std::string& path : {options.json_path, options.report_path})
    TUFF_RETURN_IF_ERROR(check_output_file(path));
  session.json_path = options.json_path;
  TUFF_ASSIGN(session.sweep, bench::parse_sweep(options.sweep));
  TUFF_ASSIGN(session.system_options, system_options(options));
  bench::Settings& settings = session.settings;
  TUFF_ASSIGN(settings.systems, make_systems(options, session.system_options));
  TUFF_ASSIGN(settings.against, baseline(options.against, settings.systems));
  settings.tolerance = options.tolerance;
  settings.modes = {options.modes.begin(), options.modes.end()};
  settings.modes.erase("cold");  // it is measured in any case
  settings.rounds = options.rounds;
  settings.burst = std::chrono::milliseconds(options.burst_ms);
  settings.timeout = std::chrono::milliseconds(static_cast<int64_t>(1e3 * options.timeout_s));
  settings.published = bench::read_published(session.system_options.directory);
  settings.interrupted = [] { return !check_interrupt().ok(); };
  settings.say = [](const std::string& line) { print_note("bench " + line); };
  allow_seconds_to_end(kSecondsToEnd);
  bench::Json results;
  Status status = bench::run_session(session, results);
  if (results.contains("workloads"))
    print_text(bench::results_table(
        results, options.markdown ? bench::TableStyle::kMarkdown : bench::TableStyle::kText));
  if (!options.report_path.empty() && results.contains("workloads")) {
    bench::Json data = {{"bench", results}};
    TUFF_RETURN_IF_ERROR(write_file(options.report_path, render_report(data)));
  }
  return status;
}

struct CompareOptions {
  std::string a, b, fail_if;
  bool json = false;
};

Status compare(const CompareOptions& options) {
  double factor = 0;
  if (!options.fail_if.empty()) {
    TUFF_ASSIGN(factor, bench::parse_factor(options.fail_if));
  }
  TUFF_ASSIGN(bench::Json a, bench::read_results(options.a));
  TUFF_ASSIGN(bench::Json b, bench::read_results(options.b));
  TUFF_ASSIGN(bench::Comparison comparison, bench::compare_results(a, b));
  if (options.json)
    print_json(bench::comparison_json(comparison));
  else
    print_text(bench::comparison_table(comparison));
  return options.fail_if.empty() ? Status() : bench::check_regression(comparison, factor);
}

void add_compare(CLI::App& bench, Action& chosen) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command =
      bench.add_subcommand("compare", "Steady states of two results: ratios with their intervals");
  command->add_option("A", options->a, "What tuff bench --json wrote before")->required();
  command->add_option("B", options->b, "... and after")->required();
  command
      ->add_option("--fail-if", options->fail_if,
                   "Exit 6 when one of tuff's systems is slower in B by more than this factor")
      ->type_name("1.05x");
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->callback([options, &chosen] { chosen = [options] { return compare(*options); }; });
}

void add_measuring_options(CLI::App& command, BenchOptions& options) {
  command.add_option("--rounds", options.rounds, "Bursts of each system, interleaved")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command.add_option("--burst-ms", options.burst_ms, "Length of a burst; one run at least")
      ->check(CLI::Range(1, 600000))
      ->capture_default_str();
  command.add_option("--timeout", options.timeout_s, "Seconds until a silent worker hangs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      .add_option("--threads", options.threads,
                  "Processors and threads of every system alike (default: all)")
      ->check(CLI::PositiveNumber);
  command.add_option("--python", options.python, "The Python that has the peers and JAX")
      ->capture_default_str();
  command.add_option("--bench-dir", options.directory, "Folder with workloads and peers");
}

}  // namespace

void add_bench(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand(
      "bench", "First run, second run and steady state of workloads, beside other systems");
  command->add_option("WORKLOAD", options->names,
                      "Workloads of bench/ (gpt2_b2s64), sets of them (nine), or models");
  add_packed_memory_option(*command);
  command
      ->add_option("--device", options->devices,
                   "tuff's devices to measure: cpu,vulkan; cpu+unfused: one kernel an operation")
      ->envname("TUFF_DEVICE")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--vs", options->peers, "Peers beside tuff: jax,torch,... or all")
      ->delimiter(',');
  command->add_option("--against", options->against,
                      "The system that ratios refer to (default: jax, else the first)");
  command
      ->add_option("--modes", options->modes,
                   "First runs to measure beside the cold one; cold alone: no others")
      ->delimiter(',')
      ->check(CLI::IsMember({"cold", "warm-disk", "warm-process", "new-shape"}));
  command->add_option("--tolerance", options->tolerance,
                      "How far outputs may be from each other, relative to the largest value");
  command->add_option("--sweep", options->sweep, "batch=1,8 or seq=64,128; may be repeated")
      ->type_name("K=V,..")
      ->allow_extra_args(false);
  command
      ->add_option("--input", options->shapes.given.inputs,
                   "A value of a model's argument, for every system alike; may be repeated "
                   "(default: seeded ones)")
      ->type_name("[NAME=]FILE.npy")
      ->allow_extra_args(false);
  add_shape_option(*command, options->shapes.given.shapes);
  command
      ->add_option("--new-shape", options->shapes.other,
                   "An open shape of a model in the new-shape mode (NAME=SHAPE); may be repeated")
      ->type_name("NAME=SHAPE")
      ->allow_extra_args(false);
  command->add_option("--json", options->json_path, "Write the results there (bench/FORMAT.md)")
      ->type_name("F.json");
  command->add_option("--report", options->report_path, "Write them as a page of HTML")
      ->type_name("F.html");
  command->add_flag("--markdown", options->markdown, "Tables as Markdown");
  add_measuring_options(*command, *options);
  add_compare(*command, chosen);
  command->callback([options, command, &chosen] {
    if (!command->get_subcommands().empty()) return;
    chosen = [options] { return bench_workloads(*options); };
  });
}

}  // namespace tuff::cli
