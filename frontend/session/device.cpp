#include "frontend/session/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "backend/verify/validate_device.h"

namespace tuff {

namespace {

constexpr std::string_view kVulkanPrefix = "vulkan:";
constexpr int kMaxLogicalDevices = 64;

int rank(const DeviceInfo& info) {
  constexpr std::string_view kOrder[] = {"discrete", "integrated", "virtual", "other", "software"};
  int rank = 0;
  while (rank < static_cast<int>(std::size(kOrder)) && info.type != kOrder[rank]) ++rank;
  return rank;
}

// The usable device of the best kind; among equals the driver's first.
const DeviceInfo* best_of(const std::vector<DeviceInfo>& devices) {
  const DeviceInfo* best = nullptr;
  for (const DeviceInfo& info : devices)
    if (info.why_not.empty() && (!best || rank(info) < rank(*best))) best = &info;
  return best;
}

Result<DeviceChoice> choose_vulkan(int index, const CachePtr& cache) {
  TUFF_ASSIGN(std::vector<DeviceInfo> devices, list_vulkan_devices(cache));
  if (index < 0) {
    if (const DeviceInfo* best = best_of(devices))
      return DeviceChoice{DeviceSpec::Kind::kVulkan, best->index,
                          fmt::format("the best Vulkan device ({})", best->type)};
    if (devices.size() == 1) return Error{ErrorCode::kNoDevice, devices[0].why_not, ""};
    return Error{ErrorCode::kNoDevice,
                 fmt::format("None of the ({}) Vulkan devices is usable; `tuff doctor` says why.",
                             devices.size()),
                 ""};
  }
  for (const DeviceInfo& info : devices) {
    if (info.index != index) continue;
    if (!info.why_not.empty())
      return Error{ErrorCode::kNoDevice,
                   fmt::format("The device vulkan:{} ({}) is not usable: {}", index, info.name,
                               info.why_not),
                   ""};
    return DeviceChoice{DeviceSpec::Kind::kVulkan, index, "asked for"};
  }
  return Error{ErrorCode::kNoDevice,
               fmt::format("There is no Vulkan device ({}); this machine has ({}), numbered from "
                           "0. `tuff devices` lists them.",
                           index, devices.size()),
               ""};
}

Result<DeviceChoice> choose_auto(bool require_gpu, const CachePtr& cache) {
  DeviceChoice cpu{DeviceSpec::Kind::kCpu, 0, "no hardware Vulkan device"};
  Result<std::vector<DeviceInfo>> devices = list_vulkan_devices(cache);
  if (devices.ok()) {
    const DeviceInfo* best = best_of(*devices);
    if (best && best->type != "software")
      return DeviceChoice{DeviceSpec::Kind::kVulkan, best->index,
                          fmt::format("the best hardware device ({})", best->type)};
  }
  if (!require_gpu) return cpu;
  std::string why =
      devices.ok() ? "this machine has no hardware Vulkan device" : devices.error().message;
  return Error{
      ErrorCode::kFallbackRefused,
      fmt::format(
          "The model would run on the CPU ({}), which --require-gpu refuses. `tuff doctor` helps; "
          "--device vulkan takes a software device.",
          why),
      ""};
}

// Cuts "x8" off the end of `word`; 1 where there is none, 0 where it is no number.
int take_count(std::string* word) {
  size_t cross = word->rfind('x');
  if (cross == std::string::npos || cross == 0 || cross + 1 == word->size()) return 1;
  int count = 0;
  const char *begin = word->data() + cross + 1, *end = word->data() + word->size();
  auto [stop, error] = std::from_chars(begin, end, count);
  if (stop != end) return 1;  // a word that ends otherwise, for parse_device to name
  word->resize(cross);
  return error == std::errc() && count >= 1 && count <= kMaxLogicalDevices ? count : 0;
}

Result<DeviceGroup> parse_group(std::string word) {
  DeviceGroup group;
  group.count = take_count(&word);
  if (group.count == 0)
    return Error{
        ErrorCode::kUsage,
        fmt::format("A device is taken ({} x N) with N from 1 to {}.", word, kMaxLogicalDevices),
        "TUFF_DEVICE"};
  Result<DeviceSpec> spec = parse_device(word);
  if (!spec || spec->kind == DeviceSpec::Kind::kReference)
    return Error{ErrorCode::kUsage,
                 fmt::format("The device ({}) is not known; use auto, cpu, vulkan or vulkan:N, "
                             "with xM for M logical devices on it, or a list of these with commas.",
                             word),
                 "TUFF_DEVICE"};
  group.spec = *spec;
  return group;
}

}  // namespace

Result<DeviceSpec> parse_device(const std::string& text) {
  if (text == "auto") return DeviceSpec{DeviceSpec::Kind::kAuto, -1};
  if (text == "vulkan") return DeviceSpec{DeviceSpec::Kind::kVulkan, -1};
  if (text == "cpu") return DeviceSpec{DeviceSpec::Kind::kCpu, -1};
  if (text == "reference") return DeviceSpec{DeviceSpec::Kind::kReference, -1};
  if (text.starts_with(kVulkanPrefix)) {
    int index = -1;
    const char *begin = text.data() + kVulkanPrefix.size(), *end = text.data() + text.size();
    auto [stop, error] = std::from_chars(begin, end, index);
    if (error == std::errc() && stop == end && index >= 0)
      return DeviceSpec{DeviceSpec::Kind::kVulkan, index};
  }
  return Error{
      ErrorCode::kUsage,
      fmt::format("The device ({}) is not known; use auto, vulkan, vulkan:N, cpu or reference.",
                  text),
      "--device"};
}

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

Result<DeviceChoice> choose_device(const DeviceSpec& spec, bool require_gpu,
                                   const CachePtr& cache) {
  switch (spec.kind) {
    case DeviceSpec::Kind::kVulkan: return choose_vulkan(spec.index, cache);
    case DeviceSpec::Kind::kAuto: return choose_auto(require_gpu, cache);
    default: break;
  }
  if (require_gpu)
    return Error{ErrorCode::kFallbackRefused,
                 "The chosen device is not a GPU, which --require-gpu refuses.", "--device"};
  return DeviceChoice{spec.kind, 0, "asked for"};
}

std::vector<std::string> matrix_texts(const Caps& caps) {
  std::vector<std::string> texts;
  for (const MatrixShape& shape : caps.matrix_shapes)
    texts.push_back(fmt::format("{}x{}x{} {} to {}", shape.m, shape.n, shape.k,
                                dtype_name(shape.element), dtype_name(shape.sum)));
  return texts;
}

Result<std::vector<DeviceInfo>> list_vulkan_devices(const CachePtr& cache) {
  return enumerate_vulkan_devices(cache.get());
}

namespace {

Result<std::unique_ptr<Device>> open_cpu(const OpenOptions& how) {
  TUFF_ASSIGN(std::unique_ptr<Device> cpu, create_cpu_device({.allocator = how.allocator}));
  return validate_device_if_asked(std::move(cpu));
}

Result<VulkanOptions> vulkan_options(const OpenOptions& how) {
  VulkanOptions options;
  options.cache = how.cache ? *how.cache : DiskCache::open_default();
  TUFF_ASSIGN(options.host, open_cpu(how));
  options.timeline = how.timeline;
  options.tell = how.warn;
  return options;
}

}  // namespace

Result<std::unique_ptr<Device>> open_device(const DeviceChoice& choice, const OpenOptions& how) {
  TUFF_CHECK(choice.kind != DeviceSpec::Kind::kReference, "the reference evaluator is no device");
  if (choice.kind == DeviceSpec::Kind::kCpu) return open_cpu(how);
  TUFF_ASSIGN(VulkanOptions options, vulkan_options(how));
  TUFF_ASSIGN(std::unique_ptr<Device> vulkan, create_vulkan_device(choice.index, options));
  return validate_device_if_asked(std::move(vulkan));
}

Result<std::unique_ptr<Device>> adopt_device(const GivenDevice& given, const OpenOptions& how) {
  TUFF_ASSIGN(VulkanOptions options, vulkan_options(how));
  TUFF_ASSIGN(std::unique_ptr<Device> vulkan, adopt_vulkan_device(given, options));
  return validate_device_if_asked(std::move(vulkan));
}

Result<Caps> caps_of(const DeviceChoice& choice) {
  if (choice.kind == DeviceSpec::Kind::kReference)
    return Error{ErrorCode::kUsage,
                 "The reference evaluator compiles nothing; use auto, vulkan or cpu.", "--device"};
  TUFF_ASSIGN(std::unique_ptr<Device> cpu, create_cpu_device());
  if (choice.kind == DeviceSpec::Kind::kCpu) return cpu->caps();
  TUFF_ASSIGN(std::vector<DeviceInfo> devices, list_vulkan_devices());
  for (const DeviceInfo& info : devices) {
    if (info.index != choice.index) continue;
    Caps caps = info.caps;
    caps.host = std::make_shared<const Caps>(cpu->caps());
    return caps;
  }
  return Error{ErrorCode::kNoDevice, "The Vulkan device is gone.", ""};
}

}  // namespace tuff
