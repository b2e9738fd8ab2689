#include "frontend/pjrt/device_list.h"

#include <charconv>

namespace tuff::pjrt {

namespace {

constexpr int kMaxCount = 64;

// Cuts "x8" off the end of `word`; 1 where there is none, 0 where it is no number.
int take_count(std::string* word) {
  size_t cross = word->rfind('x');
  if (cross == std::string::npos || cross == 0 || cross + 1 == word->size()) return 1;
  int count = 0;
  const char *begin = word->data() + cross + 1, *end = word->data() + word->size();
  auto [stop, error] = std::from_chars(begin, end, count);
  if (stop != end) return 1;  // a word that ends otherwise, for parse_device to name
  word->resize(cross);
  return error == std::errc() && count >= 1 && count <= kMaxCount ? count : 0;
}

Result<DeviceGroup> parse_group(std::string word) {
  DeviceGroup group;
  group.count = take_count(&word);
  if (group.count == 0)
    return Error{
        ErrorCode::kUsage,
        "A device is taken (" + word + " x N) with N from 1 to " + std::to_string(kMaxCount) + ".",
        "TUFF_DEVICE"};
  Result<cli::DeviceSpec> spec = cli::parse_device(word);
  if (!spec || spec->kind == cli::DeviceSpec::Kind::kReference)
    return Error{ErrorCode::kUsage,
                 "The device (" + word +
                     ") is not known; use auto, cpu, vulkan or vulkan:N, with xM for M logical "
                     "devices on it, or a list of these with commas.",
                 "TUFF_DEVICE"};
  group.spec = *spec;
  return group;
}

}  // namespace

Result<std::vector<DeviceGroup>> parse_device_list(const std::string& text) {
  std::vector<DeviceGroup> groups;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    TUFF_ASSIGN(DeviceGroup group, parse_group(text.substr(begin, end - begin)));
    groups.push_back(group);
    begin = end + 1;
  }
  return groups;
}

}  // namespace tuff::pjrt
