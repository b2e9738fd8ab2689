#include "frontend/cli/reporting.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "frontend/cli/interrupt.h"
#include "frontend/cli/terminal.h"
#include "frontend/session/environment.h"

namespace tuff::cli {

void print_json(const Json& json) {
  std::puts(json.dump(2, ' ', true, Json::error_handler_t::replace).c_str());
}

std::vector<std::string> command_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (!words.empty()) words[0] = std::filesystem::path(words[0]).filename();
  return words;
}

Result<Model> import_shown(const std::string& path, const ShapeSources& given, bool quiet) {
  std::optional<Activity> activity;
  if (!quiet) activity.emplace("import");
  return import_model(path, given);
}

void report_seeded(const ArgumentValues& arguments) {
  if (!arguments.bundled_inputs.empty())
    print_note(fmt::format("the bundle's own inputs are used for {} arguments ({} ...)",
                           arguments.bundled_inputs.size(), arguments.bundled_inputs[0]));
  if (!arguments.seeded_weights.empty())
    print_note(fmt::format(
        "seeded weights are used for {} arguments ({} ...): the bundle has no weights file",
        arguments.seeded_weights.size(), arguments.seeded_weights[0]));
  if (!arguments.seeded_inputs.empty())
    print_note(fmt::format("seeded data is used for {} arguments ({} ...): no value was given",
                           arguments.seeded_inputs.size(), arguments.seeded_inputs[0]));
}

SessionOptions session_options(const std::vector<std::string>& disabled, bool quiet) {
  SessionOptions options;
  options.disabled = {disabled.begin(), disabled.end()};
  options.dump_directory = dump_directory();
  options.hooks.check = check_interrupt;
  options.hooks.warn = print_warning;
  options.hooks.log = [](const char* topic, const std::string& line) {
    if (log_enabled(topic)) print_note(line);
  };
  if (!quiet)
    options.hooks.progress = [](const char* phase, const char* unit) -> ProgressFn {
      auto bar = std::make_shared<Progress>(phase, unit);
      return [bar](int64_t done, int64_t total) { bar->update(done, total); };
    };
  if (!quiet)
    options.hooks.activity = [](const char* what) { return std::make_shared<Activity>(what); };
  return options;
}

}  // namespace tuff::cli
