#include "frontend/cli/environment.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>
#include <string_view>

#include "frontend/cli/terminal.h"

extern char** environ;

namespace tuff::cli {

namespace {

struct Variable {
  const char* name;
  const char* doc;  // null: for our own tests, not shown
};
constexpr Variable kVariables[] = {
    {"TUFF_DEVICE", "the default of --device"},
    {"TUFF_CACHE_DIR", "where compiled kernels are kept (default: ~/.cache/tuff)"},
    {"TUFF_LOG",
     "what to tell on stderr: compile (times of each stop), run (each run), tune (each trial)"},
    {"TUFF_CPU_ISA",
     "what --device cpu uses of the processor at most: baseline, avx2, avx512 or amx"},
    {"TUFF_DUMP", "a directory; the text of each stop of the compiler is written there"},
    {"TUFF_VALIDATION", "1: Vulkan's validation layer watches (it must be installed)"},
    {"TUFF_CONFORMANCE", nullptr},
    {"TUFF_CONFORMANCE_CASES", nullptr},
    {"TUFF_CONFORMANCE_FORM", nullptr},
    {"TUFF_REWRITE_GOLDENS", nullptr},
    {"TUFF_TEST_REQUIRE_VULKAN", nullptr},
};
constexpr std::string_view kTopics[] = {"compile", "run", "tune"};

std::string_view value_of(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

template <typename F>
void for_each_topic(F&& f) {
  std::istringstream words{std::string(value_of("TUFF_LOG"))};
  for (std::string word; std::getline(words, word, ',');)
    if (!word.empty()) f(word);
}

}  // namespace

std::string environment_help() {
  std::string text = "Environment:\n";
  for (const Variable& variable : kVariables)
    if (variable.doc) text += fmt::format("  {:<25} {}\n", variable.name, variable.doc);
  return text +
         "\nExit codes: 0 ok, 1 run failed, 2 usage, 3 no usable device, 5 fallback refused, 7 "
         "mismatch,\n"
         "8 out of memory, 9 device lost, 10 bad input file, 11 unsupported operation, 130 "
         "interrupted.";
}

void warn_about_environment() {
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text = *entry;
    if (!text.starts_with("TUFF_")) continue;
    std::string_view name = text.substr(0, text.find('='));
    bool known = false;
    for (const Variable& variable : kVariables) known |= name == variable.name;
    if (!known)
      print_warning(
          fmt::format("The environment variable {} is not known; it has no effect.", name));
  }
  for_each_topic([](const std::string& word) {
    for (std::string_view topic : kTopics)
      if (topic == word) return;
    print_warning(fmt::format("TUFF_LOG names an unknown topic ({}); the topics are {}.", word,
                              fmt::join(kTopics, ", ")));
  });
}

bool log_enabled(const char* topic) {
  bool enabled = false;
  for_each_topic([&](const std::string& word) { enabled |= word == topic; });
  return enabled;
}

std::string dump_directory() { return std::string(value_of("TUFF_DUMP")); }

}  // namespace tuff::cli
