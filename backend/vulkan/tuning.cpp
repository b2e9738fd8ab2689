#include "backend/vulkan/tuning.h"

#include <fmt/format.h>

#include <sstream>

namespace tuff {

namespace {

constexpr const char* kTuningKind = "tuning";
constexpr std::string_view kBetween = ": ";  // a problem and its schedule

std::string tuning_key(const DeviceSnapshot& s) {
  return fmt::format("tuff {}\n{}", TUFF_VERSION, driver_identity(s));
}

}  // namespace

std::string print_tuning(const Tuning& tuning) {
  std::string text;
  for (const auto& [problem, schedule] : tuning)
    text += fmt::format("{}{}{}\n", problem, kBetween, schedule);
  return text;
}

Tuning parse_tuning(const std::string& text) {
  Tuning tuning;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    size_t at = line.find(kBetween);
    if (at != std::string::npos) tuning[line.substr(0, at)] = line.substr(at + kBetween.size());
  }
  return tuning;
}

std::shared_ptr<const Tuning> find_tuning(DiskCache* cache, const DeviceSnapshot& snapshot) {
  if (cache == nullptr) return nullptr;
  auto bytes = cache->get(kTuningKind, tuning_key(snapshot));
  if (!bytes) return nullptr;
  return std::make_shared<const Tuning>(parse_tuning(std::string(bytes->begin(), bytes->end())));
}

void keep_tuning(DiskCache& cache, const DeviceSnapshot& snapshot, const Tuning& tuning) {
  std::string text = print_tuning(tuning);
  cache.put(kTuningKind, tuning_key(snapshot),
            {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace tuff
