// tuff run: a model, its arguments, its outputs and what the run cost.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "frontend/cli/check.h"
#include "frontend/cli/command.h"
#include "frontend/cli/execute.h"
#include "frontend/cli/interrupt.h"
#include "frontend/cli/options.h"
#include "frontend/cli/run_report.h"
#include "frontend/cli/session.h"
#include "frontend/cli/terminal.h"
#include "frontend/cli/tuning.h"
#include "frontend/weights/npy.h"
#include "ir/evaluate/evaluate.h"

namespace tuff::cli {

namespace {

struct RunOptions {
  std::string model, device = "auto", weights, output_dir, precision = "f32";
  std::vector<std::string> inputs, shapes, disabled;
  int64_t repeat = 0;
  std::optional<double> tune_s;
  bool require_gpu = false, check = false, json = false;
};

// A device that is open, or none for the reference evaluator.
struct OpenChoice {
  DeviceChoice choice;
  std::unique_ptr<Device> device;
};

Result<OpenChoice> open_choice(const DeviceSpec& spec, bool require_gpu) {
  OpenChoice open;
  TUFF_ASSIGN(open.choice, choose_device(spec, require_gpu));
  if (open.choice.kind != DeviceSpec::Kind::kReference) {
    TUFF_ASSIGN(open.device, open_device(open.choice, {nullptr, print_warning}));
  }
  return open;
}

// Runs on the chosen device. What the GPU cannot do ends the run when the user
// asked for it; with `auto` the CPU takes the whole model, and that is said.
Result<Execution> execute_on(OpenChoice& open, const DeviceSpec& spec, const Graph& graph,
                             const std::vector<Literal>& arguments, const RunOptions& options) {
  if (!open.device) return execute_reference(graph, arguments);
  ExecuteOptions execute_options{as_set(options.disabled), options.repeat, options.json,
                                 options.require_gpu};
  Result<Execution> execution =
      execute(*open.device, open.choice, graph, arguments, execute_options);
  bool lacks = !execution.ok() && execution.error().code == ErrorCode::kUnsupported &&
               open.choice.kind == DeviceSpec::Kind::kVulkan;
  if (!lacks) return execution;
  Error error = execution.take_error();
  if (options.require_gpu)
    return Error{ErrorCode::kFallbackRefused,
                 error.message + " It would run on the CPU, which --require-gpu refuses.",
                 error.where};
  if (spec.kind != DeviceSpec::Kind::kAuto) return error;
  print_warning(
      fmt::format("The GPU cannot run this model, the CPU takes all of it: {}", error.to_string()));
  open.device.reset();
  open.choice = {DeviceSpec::Kind::kCpu, 0, "the GPU lacks an operation"};
  TUFF_ASSIGN(open.device, open_device(open.choice, {nullptr, print_warning}));
  return execute(*open.device, open.choice, graph, arguments, execute_options);
}

Status write_outputs(const std::string& directory, const std::vector<Literal>& outputs) {
  if (directory.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return Error{ErrorCode::kRunFailed,
                 fmt::format("The directory cannot be created ({}).", error.message()), directory};
  for (size_t i = 0; i < outputs.size(); ++i) {
    TUFF_RETURN_IF_ERROR(check_interrupt());
    TUFF_RETURN_IF_ERROR(write_npy(fmt::format("{}/out{}.npy", directory, i), outputs[i]));
  }
  return {};
}

// Compares with the evaluator and, where something differs, looks for the place.
Status check_run(const OpenChoice& open, const Graph& graph, const std::vector<Literal>& arguments,
                 const RunOptions& options, RunReport& report) {
  CheckReport& check = report.check.emplace();
  check.tolerance = check_tolerance(graph);
  TUFF_ASSIGN(std::vector<Literal> expected, evaluate(graph, arguments));
  for (size_t i = 0; i < expected.size(); ++i) {
    check.outputs.push_back(
        compare_outputs(report.execution.outputs[i], expected[i], check.tolerance));
    check.within = check.within && check.outputs.back().within;
  }
  if (check.within || !open.device) return {};
  Result<std::string> where = locate_difference(
      {open.device.get(), &graph, &arguments, as_set(options.disabled), check.tolerance});
  check.where = where.ok() ? *where : "The place is not found: " + where.error().to_string();
  return {};
}

Status check_options(const RunOptions& options) {
  if (options.precision != "f32")
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("The precision ({}) is not built yet; f32 is, and it means f32 everywhere.",
                    options.precision),
        "--precision"};
  if (options.repeat < 0)
    return Error{ErrorCode::kUsage, "The number of runs is negative.", "--repeat"};
  return {};
}

Status run(const RunOptions& options) {
  TUFF_RETURN_IF_ERROR(check_options(options));
  TUFF_ASSIGN(DeviceSpec spec, parse_device(options.device));
  RunReport report;
  Timer timer;
  TUFF_ASSIGN(Model model, import_model(options.model, {options.shapes, options.inputs}));
  TUFF_RETURN_IF_ERROR(check_interrupt());
  TUFF_ASSIGN(ArgumentValues arguments,
              gather_arguments(model, {options.inputs, options.weights, false}));
  report.load_ms = timer.ms();
  report_seeded(arguments);
  TUFF_ASSIGN(OpenChoice open, open_choice(spec, options.require_gpu));
  if (options.tune_s)
    TUFF_RETURN_IF_ERROR(tune_first(open.choice, open.device.get(), model.graph,
                                    {*options.tune_s, as_set(options.disabled), options.json}));
  TUFF_ASSIGN(report.execution, execute_on(open, spec, model.graph, arguments.values, options));
  TUFF_RETURN_IF_ERROR(write_outputs(options.output_dir, report.execution.outputs));
  if (options.check)
    TUFF_RETURN_IF_ERROR(check_run(open, model.graph, arguments.values, options, report));
  open.device.reset();  // validation tells of leaks when the device goes
  report.validation_errors = validation_errors();
  report.output_names = model.results;
  report.output_dir = options.output_dir;
  if (options.json)
    print_json(report.json());
  else
    std::fputs(report.text().c_str(), stdout);
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
  command->add_option("--output-dir", options->output_dir, "Write out0.npy, out1.npy ... there")
      ->type_name("DIR");
  command->add_flag(
      "--check", options->check,
      "Compare with the reference evaluator; name the first node that differs (exit 7)");
  command->add_option("--precision", options->precision, "Of the matmuls")
      ->check(CLI::IsMember({"f32", "tf32", "bf16", "f16"}))
      ->capture_default_str();
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
