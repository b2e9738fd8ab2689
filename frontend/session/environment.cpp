#include "frontend/session/environment.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>
#include <string_view>

extern char** environ;

namespace tuff {

namespace {

constexpr EnvironmentVariable kVariables[] = {
    {"TUFF_DEVICE", "the default of --device"},
    {"TUFF_CACHE_DIR", "where compiled kernels are kept (default: ~/.cache/tuff)"},
    {"TUFF_LOG",
     "what to tell on stderr: compile (times of each stop), run (each run), tune (each trial)"},
    {"TUFF_CPU_ISA",
     "what --device cpu uses of the processor at most: baseline, avx2, avx512 or amx"},
    {"TUFF_CPU_CODE",
     "how --device cpu runs kernels and their loops: native or interpreted, else by turns"},
    {"TUFF_PACKED_MEMORY", "the default of --packed-memory"},
    {"TUFF_DUMP", "a directory; the text of each stop of the compiler is written there"},
    {"TUFF_SCHEDULE_AS",
     "a class of device and lanes of its subgroups, whose kernels a Vulkan device gets"},
    {"TUFF_VERIFY",
     "1: the compiler checks its graphs, kernels and plans, the devices each load and run"},
    {"TUFF_VALIDATION", "1: Vulkan's validation layer watches (it must be installed)"},
    {"TUFF_TRANSPORT",
     "of JAX programs of several processes: the library that carries the data, gloo, ucx or a path"},
    {"TUFF_HOST",
     "of JAX programs of several processes: the name by which other machines reach this one"},
    {"TUFF_PJRT_PLUGIN", "of the Python package: the PJRT plugin that JAX gets"},
    {"TUFF_LIBRARY", "of the Python package: the libtuff that it calls"},
    {"TUFF_BUILD", "of the Python package: the build folder that it is installed from"},
    {"TUFF_CONFORMANCE", nullptr},
    {"TUFF_CONFORMANCE_CASES", nullptr},
    {"TUFF_CONFORMANCE_FORM", nullptr},
    {"TUFF_REWRITE_GOLDENS", nullptr},
    {"TUFF_TEST_REQUIRE_VULKAN", nullptr},
    {"TUFF_TEST_FAULT", nullptr},
    {"TUFF_TEST_LOADER_FILE", nullptr},
    {"TUFF_C_PROGRAM", nullptr},
    {"TUFF_JAX_PYTHON", nullptr},
    {"TUFF_JAX_PYTHONS", nullptr},
    {"TUFF_LIBRARY_TESTS", nullptr},
    {"TUFF_LIBRARY_EVERY", nullptr},
    {"TUFF_AXE", nullptr},
    {"TUFF_CONAN", nullptr},
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

std::span<const EnvironmentVariable> environment_variables() { return kVariables; }

std::vector<std::string> environment_warnings() {
  std::vector<std::string> warnings;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text = *entry;
    if (!text.starts_with("TUFF_")) continue;
    std::string_view name = text.substr(0, text.find('='));
    bool known = false;
    for (const EnvironmentVariable& variable : kVariables) known |= name == variable.name;
    if (!known)
      warnings.push_back(
          fmt::format("The environment variable {} is not known; it has no effect.", name));
  }
  for_each_topic([&](const std::string& word) {
    for (std::string_view topic : kTopics)
      if (topic == word) return;
    warnings.push_back(fmt::format("TUFF_LOG names an unknown topic ({}); the topics are {}.", word,
                                   fmt::join(kTopics, ", ")));
  });
  return warnings;
}

bool log_enabled(const char* topic) {
  bool enabled = false;
  for_each_topic([&](const std::string& word) { enabled |= word == topic; });
  return enabled;
}

std::string dump_directory() { return std::string(value_of("TUFF_DUMP")); }

}  // namespace tuff
