#include "backend/vulkan/schedule_as.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>

namespace tuff {

namespace {

constexpr const char* kVariable = "TUFF_SCHEDULE_AS";

std::optional<DeviceClass> class_of(const std::string& name) {
  if (name == "discrete") return DeviceClass::kDiscreteGpu;
  if (name == "integrated") return DeviceClass::kIntegratedGpu;
  return std::nullopt;
}

// A power of two from 4 to 128, or 0.
int64_t lanes_of(const std::string& text) {
  int64_t lanes = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), lanes);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && lanes >= 4 && lanes <= 128 && (lanes & (lanes - 1)) == 0 ? lanes : 0;
}

}  // namespace

Status schedule_as(const std::string& value, Caps& caps) {
  size_t colon = value.find(':');
  std::optional<DeviceClass> device_class = class_of(value.substr(0, colon));
  int64_t lanes = colon == std::string::npos ? 0 : lanes_of(value.substr(colon + 1));
  if (!device_class || lanes == 0)
    return Error{ErrorCode::kUsage,
                 fmt::format("{} is \"{}\"; give a class of device and the lanes of its subgroups, "
                             "for example discrete:32 or integrated:16.",
                             kVariable, value),
                 ""};
  caps.device_class = *device_class;
  caps.native_division = false;
  caps.tuning = nullptr;
  if (lanes == caps.subgroup_size) return {};
  caps.subgroup_size = lanes;
  caps.subgroup_shuffle = false;
  caps.matrix_shapes.clear();
  return {};
}

Status schedule_as_asked(Caps& caps) {
  const char* value = std::getenv(kVariable);
  return value == nullptr || *value == '\0' ? Status() : schedule_as(value, caps);
}

}  // namespace tuff
