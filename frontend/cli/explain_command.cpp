// tuff explain: the text of any stop on the way from a model to kernels.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "frontend/cli/command.h"
#include "frontend/cli/explain_driver.h"
#include "frontend/cli/options.h"
#include "frontend/cli/reporting.h"
#include "frontend/cli/terminal.h"
#include "frontend/session/device.h"
#include "frontend/session/model.h"
#include "ir/group/group_space.h"
#include "ir/text/print.h"
#include "shaders/schedule/contraction_schedule.h"

namespace tuff::cli {

namespace {

struct ExplainOptions {
  std::string model, device = "auto", after, isa_directory;
  std::vector<std::string> shapes, disabled;
  bool json = false;
};

std::string kernel_text(const Step& step) {
  switch (step.kind) {
    case Step::Kind::kDispatch: return fmt::format("k{}", step.kernel);
    case Step::Kind::kCopy: return "copy";
    case Step::Kind::kWhile: return "loop";
    case Step::Kind::kCase: return "branch";
    case Step::Kind::kHost: return "host";
    default: return "call";
  }
}

// The measured schedule that a matmul or convolution has, if any.
std::string tuned_text(const Program& program, const Step& step, const Caps& caps) {
  if (step.kind != Step::Kind::kDispatch || !step.region) return "";
  auto kind = parse_word<GroupKind>(program.kernels[step.kernel].family);
  if (!kind || !is_contraction(*kind)) return "";
  auto problem = contraction_problem(*step.region, caps);
  auto schedule = problem ? tuned_contraction_schedule(caps, *problem) : std::nullopt;
  return schedule ? fmt::format(" tuned: {}", print_contraction_schedule(*schedule)) : "";
}

// A kernel has no name; its number in the program and its first words tell it apart.
std::string summary(const Program& program, const CompileReport& report, const Caps& caps) {
  std::string text = fmt::format("device      {}\n", caps.name);
  text += fmt::format("operations  {}\ngroups      {}\nkernels     {} distinct\narena       {}\n\n",
                      report.ops, report.groups, report.kernels, format_bytes(report.arena_bytes));
  text += fmt::format("{:>5}  {:>6}  {:>10}  {}\n", "step", "kernel", "workgroups", "what");
  int number = 0;
  for_each_step(program.steps, [&](const Step& step, int depth) {
    bool dispatch = step.kind == Step::Kind::kDispatch;
    std::string what = fmt::format("{:{}}{}", "", 2 * depth, step.label);
    if (step.trip_count) what += fmt::format(" {} times", *step.trip_count);
    text += fmt::format("{:>5}  {:>6}  {:>10}  {} [{} ops]{}\n", number++, kernel_text(step),
                        dispatch ? fmt::format("{}", step.workgroups) : "-", what, step.ops.size(),
                        tuned_text(program, step, caps));
  });
  return text;
}

Status print_stop(const Graph& graph, const Caps& caps, const ExplainOptions& options) {
  CompileOptions compile_options;
  compile_options.disabled = {options.disabled.begin(), options.disabled.end()};
  compile_options.dump_after = {options.after};
  std::string last;
  int count = 0;
  compile_options.dump = [&](const std::string&, const std::string& text) { last = text, ++count; };
  // What was dumped before an error is still what the user asked for.
  auto program = compile(graph, caps, compile_options, nullptr);
  if (count == 0) {
    TUFF_RETURN_IF_ERROR(program);
    return Error{ErrorCode::kUsage,
                 fmt::format("The step ({}) did not run; it is disabled.", options.after),
                 "--after"};
  }
  if (count > 1)
    print_note(
        fmt::format("the pass {} runs {} times; this is its last result", options.after, count));
  print_text(last);
  if (!last.ends_with('\n')) std::fputs("\n", stdout);
  if (!program.ok())
    print_warning("The walk ends later with an error: " + program.error().to_string());
  return {};
}

// The stops of the walk, and what the device's driver makes of its end.
constexpr const char* kDriver = "driver";

std::vector<std::string> after_names() {
  std::vector<std::string> names = stop_names();
  names.emplace_back(kDriver);
  return names;
}

Status explain(const ExplainOptions& options) {
  std::vector<std::string> stops = after_names();
  if (!options.after.empty() && std::find(stops.begin(), stops.end(), options.after) == stops.end())
    return Error{ErrorCode::kUsage,
                 fmt::format("The step ({}) is not known; the steps are {}.", options.after,
                             fmt::join(stops, ", ")),
                 "--after"};
  bool driver = options.after == kDriver;
  if (!driver && (options.json || !options.isa_directory.empty()))
    return Error{ErrorCode::kUsage, "--json and --isa go with --after driver.", "--after"};
  TUFF_ASSIGN(DeviceSpec spec, parse_device(options.device));
  TUFF_ASSIGN(Model model, import_shown(options.model, {options.shapes, {}}, options.json));
  if (options.after == "import") {
    print_text(print(model.graph));
    return {};
  }
  TUFF_ASSIGN(DeviceChoice choice, choose_device(spec));
  if (driver)
    return explain_driver(model.graph, choice,
                          {options.disabled, options.isa_directory, options.json});
  TUFF_ASSIGN(Caps caps, caps_of(choice));
  if (!options.after.empty()) return print_stop(model.graph, caps, options);
  CompileReport report;
  TUFF_ASSIGN(auto program,
              compile_model(model.graph, caps, session_options(options.disabled), &report));
  print_text(summary(*program, report, caps));
  return {};
}

}  // namespace

void add_explain(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command =
      app.add_subcommand("explain", "Show what a model becomes: any stop of the compiler as text");
  add_model_option(*command, options->model);
  add_shape_option(*command, options->shapes);
  command
      ->add_option("--after", options->after,
                   fmt::format("One of {}; without it, a summary", fmt::join(after_names(), ", ")))
      ->type_name("STEP");
  command
      ->add_option("--isa", options->isa_directory,
                   "With --after driver: write the machine's instructions there, one file a kernel")
      ->type_name("DIR");
  command->add_flag("--json", options->json, "With --after driver: one object on stdout");
  add_device_option(*command, options->device);
  add_disable_option(*command, options->disabled);
  command->callback([options, &chosen] { chosen = [options] { return explain(*options); }; });
}

}  // namespace tuff::cli
