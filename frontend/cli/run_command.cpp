// tuff run: a model, its arguments, its outputs and what the run cost.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "frontend/cli/command.h"
#include "frontend/cli/interrupt.h"
#include "frontend/cli/options.h"
#include "frontend/cli/reporting.h"
#include "frontend/cli/run_report.h"
#include "frontend/cli/terminal.h"
#include "frontend/cli/tuning.h"
#include "frontend/session/check.h"
#include "frontend/session/model.h"
#include "frontend/session/run.h"
#include "frontend/weights/npy.h"

namespace tuff::cli {

namespace {

struct RunOptions {
  std::string model, device = "auto", weights, output_dir;
  std::vector<std::string> inputs, shapes, disabled;
  int64_t repeat = 0;
  std::optional<double> tune_s;
  bool require_gpu = false, check = false, json = false;
};

// True iff the name can be a file's on any system, and is none of out0, out1 ...
bool names_a_file(const std::string& name) {
  bool is_number = name.starts_with("out") && name.find_first_not_of("0123456789", 3) == name.npos;
  return !name.empty() && name[0] != '.' && !is_number && name.size() < 200 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_' || c == '-' || c == '.';
         });
}

// The same file by the result's own name.
void add_name(const std::string& file, const std::string& named) {
  std::error_code error;
  std::filesystem::remove(named, error);
  std::filesystem::create_hard_link(file, named, error);
  if (error) std::filesystem::copy_file(file, named, error);
}

// Before the work, which would be lost.
Status make_output_directory(const std::string& directory) {
  if (directory.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return Error{ErrorCode::kRunFailed,
                 fmt::format("The directory cannot be created ({}).", error.message()), directory};
  if (::access(directory.c_str(), W_OK | X_OK) != 0)
    return Error{ErrorCode::kRunFailed,
                 fmt::format("The directory cannot be written to ({}).", std::strerror(errno)),
                 directory};
  return {};
}

Status write_outputs(const std::string& directory, const std::vector<Literal>& outputs,
                     const std::vector<std::string>& names) {
  if (directory.empty()) return {};
  for (size_t i = 0; i < outputs.size(); ++i) {
    TUFF_RETURN_IF_ERROR(check_interrupt());
    std::string file = fmt::format("{}/out{}.npy", directory, i);
    TUFF_RETURN_IF_ERROR(write_npy(file, outputs[i]));
    if (names_a_file(names[i])) add_name(file, fmt::format("{}/{}.npy", directory, names[i]));
  }
  return {};
}

// Compares with the evaluator and, where something differs, looks for the place.
Result<CheckReport> check_run(const Session& session, const Graph& graph,
                              const std::vector<Literal>& arguments,
                              const std::vector<Literal>& outputs) {
  std::shared_ptr<void> activity = session.options().hooks.begin("check");
  TUFF_ASSIGN(CheckReport check, check_outputs(graph, arguments, outputs));
  if (check.within || session.is_reference()) return check;
  Result<std::string> where = locate_difference(session, graph, arguments, check.tolerance);
  check.where = where.ok() ? *where : "The place is not found: " + where.error().to_string();
  return check;
}

Status check_options(const RunOptions& options) {
  if (options.repeat < 0)
    return Error{ErrorCode::kUsage, "The number of runs is negative.", "--repeat"};
  return {};
}

// All that needs the device, which closes at the end.
Status run_on_device(const DeviceSpec& spec, const Model& model,
                     const std::vector<Literal>& arguments, const RunOptions& options,
                     RunReport& report) {
  SessionOptions how = session_options(options.disabled, options.json);
  how.require_gpu = options.require_gpu;
  how.code = model.code;
  TUFF_ASSIGN(Session session, Session::open(spec, std::move(how)));
  if (options.tune_s) {
    TUFF_ASSIGN(TuneReport tuned, tune_model(session, model.graph, *options.tune_s));
    print_note(summary_of(tuned));
  }
  TUFF_ASSIGN(report.execution, run_model(session, model.graph, arguments, options.repeat));
  std::vector<Literal> whole = report.execution.outputs;
  report.execution.outputs = user_results(model, whole);
  TUFF_RETURN_IF_ERROR(write_outputs(options.output_dir, report.execution.outputs, model.results));
  if (options.check) {
    TUFF_ASSIGN(report.check, check_run(session, model.graph, arguments, whole));
  }
  return {};
}

Status run(const RunOptions& options) {
  TUFF_RETURN_IF_ERROR(check_options(options));
  TUFF_RETURN_IF_ERROR(make_output_directory(options.output_dir));
  TUFF_ASSIGN(DeviceSpec spec, parse_device(options.device));
  RunReport report;
  Timer timer;
  TUFF_ASSIGN(Model model,
              import_shown(options.model, {options.shapes, options.inputs}, options.json));
  TUFF_RETURN_IF_ERROR(check_interrupt());
  std::optional<Activity> gathering;
  if (!options.json) gathering.emplace("arguments");
  TUFF_ASSIGN(ArgumentValues arguments,
              gather_arguments(model, {options.inputs, options.weights, false}));
  gathering.reset();
  report.load_ms = timer.ms();
  report_seeded(arguments);
  TUFF_RETURN_IF_ERROR(run_on_device(spec, model, arguments.values, options, report));
  report.validation_errors = validation_errors();  // tells of leaks once the device is gone
  report.output_names = model.results;
  report.output_dir = options.output_dir;
  if (options.json)
    print_json(report.json());
  else
    print_text(report.text());
  if (report.check && !report.check->within)
    return Error{ErrorCode::kMismatch,
                 "The outputs are not the reference evaluator's. " + report.check->where, ""};
  return {};
}

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a model and show its outputs");
  add_model_option(*command, options->model);
  add_shape_option(*command, options->shapes);
  add_device_option(*command, options->device);
  add_packed_memory_option(*command);
  command->add_flag("--require-gpu", options->require_gpu,
                    "Fail (exit 5) when something would not run on Vulkan");
  command
      ->add_option("--input", options->inputs,
                   "An argument's value; without NAME, the next input's. May be repeated")
      ->type_name("[NAME=]FILE.npy")
      ->allow_extra_args(false);
  command->add_option("--weights", options->weights, "Weights by name, instead of the bundle's own")
      ->type_name("F.safetensors");
  command
      ->add_option("--output-dir", options->output_dir,
                   "Write out0.npy, out1.npy ... there, also by the results' own names")
      ->type_name("DIR");
  command->add_flag(
      "--check", options->check,
      "Compare with the reference evaluator; name the first node that differs (exit 7)");
  add_disable_option(*command, options->disabled);
  add_tune_option(*command, options->tune_s);
  command
      ->add_option("--repeat", options->repeat,
                   "Runs after the second; their median is the steady time")
      ->type_name("N");
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace tuff::cli
