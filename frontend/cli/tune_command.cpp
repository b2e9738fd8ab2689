// tuff tune: measures schedules for a model's matmuls and keeps those that are faster.
#include <fmt/format.h>

#include <cstdio>

#include "frontend/cli/command.h"
#include "frontend/cli/options.h"
#include "frontend/cli/reporting.h"
#include "frontend/cli/terminal.h"
#include "frontend/cli/tuning.h"
#include "frontend/session/model.h"

namespace tuff::cli {

namespace {

struct TuneArguments {
  std::string model, device = "auto";
  std::vector<std::string> shapes, disabled;
  double budget_s = kTuneSeconds;
  bool json = false;
};

Json json_of_report(const TuneReport& report, const std::string& device) {
  Json problems = Json::array();
  for (const TunedProblem& p : report.problems)
    problems.push_back({{"problem", p.problem},
                        {"runs", p.runs},
                        {"chosen", p.chosen},
                        {"chosen_ms", p.chosen_ms},
                        {"best", p.best},
                        {"best_ms", p.best_ms},
                        {"tried", p.tried},
                        {"wrong", p.wrong}});
  return {{"device", device}, {"faster", report.faster.size()}, {"problems", std::move(problems)}};
}

std::string text_of_report(const TuneReport& report, const std::string& device) {
  std::string text = fmt::format("device  {}\n\n{:>10} {:>10} {:>5} {:>6}  {}\n", device, "before",
                                 "after", "runs", "tried", "matmul or convolution, its schedule");
  for (const TunedProblem& p : report.problems) {
    bool faster = p.best != p.chosen;
    text += fmt::format("{:>10} {:>10} {:>5} {:>6}  {}\n", format_ms(p.chosen_ms),
                        faster ? format_ms(p.best_ms) : "-", p.runs,
                        p.tried > 0 ? fmt::format("{}", p.tried) : "-", p.problem);
    if (faster) text += fmt::format("{:36}{}\n", "", p.best);
  }
  return text + "\n" + summary_of(report) + "\n";
}

Status tune_schedules(const TuneArguments& options) {
  TUFF_ASSIGN(DeviceSpec spec, parse_device(options.device));
  TUFF_ASSIGN(Model model, import_shown(options.model, {options.shapes, {}}, options.json));
  TUFF_ASSIGN(Session session,
              Session::open(spec, session_options(options.disabled, options.json)));
  TUFF_ASSIGN(TuneReport report, tune_model(session, model.graph, options.budget_s));
  std::string device = session.device().description();
  if (options.json)
    print_json(json_of_report(report, device));
  else
    print_text(text_of_report(report, device));
  return {};
}

}  // namespace

void add_tune(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<TuneArguments>();
  CLI::App* command = app.add_subcommand(
      "tune",
      "Measure schedules for a model's matmuls on a Vulkan device and keep the faster ones");
  add_model_option(*command, options->model);
  add_shape_option(*command, options->shapes);
  add_device_option(*command, options->device);
  add_packed_memory_option(*command);
  command->add_option("--budget", options->budget_s, "Seconds to measure for, about")
      ->type_name("SECONDS")
      ->capture_default_str();
  add_disable_option(*command, options->disabled);
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->callback(
      [options, &chosen] { chosen = [options] { return tune_schedules(*options); }; });
}

}  // namespace tuff::cli
