// tuff compile: a model as a file that loads without compiling.
#include <fmt/format.h>

#include <filesystem>

#include "frontend/cli/command.h"
#include "frontend/cli/options.h"
#include "frontend/cli/reporting.h"
#include "frontend/cli/terminal.h"
#include "frontend/session/arguments.h"
#include "frontend/session/measure.h"
#include "frontend/session/model.h"
#include "frontend/session/save.h"
#include "frontend/weights/file.h"

namespace tuff::cli {

namespace {

struct CompileArguments {
  std::string model, output, device = "auto", weights;
  std::vector<std::string> shapes;
  bool without_weights = false, require_gpu = false, json = false;
};

Status compile_to_file(const CompileArguments& options) {
  Timer timer;
  TUFF_ASSIGN(DeviceSpec spec, parse_device(options.device));
  if (spec.kind == DeviceSpec::Kind::kReference)
    return Error{ErrorCode::kUsage, "The reference evaluator compiles nothing.", "--device"};
  TUFF_RETURN_IF_ERROR(check_output_file(options.output));
  TUFF_ASSIGN(Model model, import_shown(options.model, {options.shapes, {}}, options.json));
  if (options.without_weights) {
    leave_values_out(&model);
  } else {
    TUFF_ASSIGN(auto weights, gather_weights(model, options.weights));
    for (size_t i = 0; i < weights.size(); ++i) model.arguments[i].value = std::move(weights[i]);
  }
  SessionOptions how = session_options({}, options.json);
  how.require_gpu = options.require_gpu;
  TUFF_ASSIGN(Session session, Session::open(spec, std::move(how)));
  CompileReport report;
  TUFF_ASSIGN(auto program, session.compile(model.graph, &report));
  TUFF_RETURN_IF_ERROR(save_program(options.output, model, *program, session.device()));
  std::error_code ignored;
  uintmax_t bytes = std::filesystem::file_size(options.output, ignored);
  if (ignored) bytes = 0;  // a pipe
  std::string device = session.device().description();
  if (options.json)
    print_json({{"file", options.output},
                {"bytes", bytes},
                {"device", device},
                {"operations", report.ops},
                {"kernels", report.kernels},
                {"ms", timer.ms()}});
  else
    print_text(fmt::format("{}: {} operations in {} kernels for {}, {}, in {}\n", options.output,
                           report.ops, report.kernels, device,
                           format_bytes(static_cast<int64_t>(bytes)), format_ms(timer.ms())));
  return {};
}

}  // namespace

void add_compile(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CompileArguments>();
  CLI::App* command = app.add_subcommand(
      "compile", "Compile a model into a file that loads without compiling, where MODEL stands");
  add_model_option(*command, options->model);
  command->add_option("-o,--output", options->output, "The file to write")
      ->type_name("F.tuff")
      ->required();
  add_shape_option(*command, options->shapes);
  add_device_option(*command, options->device);
  command->add_flag("--require-gpu", options->require_gpu,
                    "Fail (exit 5) when something would not run on Vulkan");
  command->add_option("--weights", options->weights, "Weights by name, instead of the bundle's own")
      ->type_name("F.safetensors");
  command->add_flag("--without-weights", options->without_weights,
                    "Leave values of arguments out; whoever loads the file gives them");
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->callback(
      [options, &chosen] { chosen = [options] { return compile_to_file(*options); }; });
}

}  // namespace tuff::cli
