#include "frontend/cli/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "frontend/cli/interrupt.h"
#include "frontend/cli/terminal.h"
#include "frontend/session/environment.h"
#include "frontend/weights/file.h"
#include "ir/pass.h"

namespace tuff::cli {

namespace {

// Writes the stops into TUFF_DUMP as 00_import.txt, 01_eliminate_dead.txt ...; a
// directory that cannot be written is told once and does not stop the compiler.
class Dump {
 public:
  explicit Dump(std::string directory) : directory_(std::move(directory)) {}

  void operator()(const std::string& stop, const std::string& text) {
    if (failed_) return;
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    Status status = write_file(fmt::format("{}/{:02}_{}.txt", directory_, count_++, stop), text);
    if (status.ok()) return;
    failed_ = true;
    print_warning("TUFF_DUMP is not written: " + status.error().to_string());
  }

 private:
  std::string directory_;
  int count_ = 0;
  bool failed_ = false;
};

}  // namespace

void print_json(const Json& json) {
  std::puts(json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

std::vector<std::string> stop_names() {
  std::vector<std::string> names = {"import"};
  for (const PassStep& step : pass_order())
    if (std::find(names.begin(), names.end(), step.pass) == names.end()) names.push_back(step.pass);
  names.insert(names.end(), {"lower", "glsl", "plan"});
  return names;
}

Result<std::shared_ptr<const Program>> compile_graph(const Graph& graph, const Caps& caps,
                                                     const std::set<std::string>& disabled,
                                                     CompileReport* report, Timeline* timeline) {
  CompileOptions options;
  options.timeline = timeline;
  options.disabled = disabled;
  if (std::string directory = dump_directory(); !directory.empty()) {
    for (const std::string& name : stop_names()) options.dump_after.insert(name);
    if (caps.device_class == DeviceClass::kCpu)
      options.dump_after.erase("glsl");  // the CPU has none
    options.dump = Dump(directory);
  }
  CompileReport unused;
  CompileReport& filled = report ? *report : unused;
  auto program = compile(graph, caps, options, &filled);
  if (log_enabled("compile"))
    for (const auto& [stop, ms] : filled.stops)
      print_note(fmt::format("compile {:<16} {}", stop, format_ms(ms)));
  TUFF_RETURN_IF_ERROR(check_interrupt());
  return program;
}

std::vector<std::string> command_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (!words.empty()) words[0] = std::filesystem::path(words[0]).filename();
  return words;
}

void report_seeded(const ArgumentValues& arguments) {
  if (!arguments.seeded_weights.empty())
    print_note(fmt::format(
        "seeded weights are used for {} arguments ({} ...): the bundle has no weights file",
        arguments.seeded_weights.size(), arguments.seeded_weights[0]));
  if (!arguments.seeded_inputs.empty())
    print_note(fmt::format("seeded data is used for {} arguments ({} ...): no value was given",
                           arguments.seeded_inputs.size(), arguments.seeded_inputs[0]));
}

}  // namespace tuff::cli
