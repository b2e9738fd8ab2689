// Which devices a word means, why, and how they are opened: the one grammar of --device, of
// TUFF_DEVICE and of the plugin's option. Nothing here keeps state; every function may be called
// from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/cpu/device.h"
#include "backend/device.h"
#include "backend/vulkan/vulkan.h"

namespace tuff {

// Where what devices make is kept; null: nowhere. Most callers leave it to the user's own.
using CachePtr = std::shared_ptr<DiskCache>;

// auto | vulkan[:I] | cpu | reference.
struct DeviceSpec {
  enum class Kind { kAuto, kVulkan, kCpu, kReference };
  Kind kind = Kind::kAuto;
  int index = -1;  // kVulkan: -1 is the best one
};

// Errors: kUsage listing what is possible.
Result<DeviceSpec> parse_device(const std::string& text);

// `count` logical devices on one of the machine's.
struct DeviceGroup {
  DeviceSpec spec;  // not kReference
  int count = 1;
};

// A list such as "auto", "cpu", "vulkan:1", "vulkan:0x8" (eight logical devices on one)
// or "vulkan:0,cpu". Errors: kUsage saying what is possible.
Result<std::vector<DeviceGroup>> parse_device_list(const std::string& text);

// What a spec means on this machine. No device is opened.
struct DeviceChoice {
  DeviceSpec::Kind kind = DeviceSpec::Kind::kCpu;  // never kAuto
  int index = 0;                                   // kVulkan
  std::string why;                                 // "the only hardware Vulkan device"
};

// auto: the best hardware Vulkan device, else the CPU, never software Vulkan,
// which is slower than our own CPU device. With require_gpu, a choice that is not
// Vulkan is kFallbackRefused. Errors: kNoDevice.
Result<DeviceChoice> choose_device(const DeviceSpec& spec, bool require_gpu = false,
                                   const CachePtr& cache = DiskCache::open_default());

// The Vulkan devices, as the cache knows them.
Result<std::vector<DeviceInfo>> list_vulkan_devices(
    const CachePtr& cache = DiskCache::open_default());

// What subgroups of a device multiply as matrices: "16x16x16 f16 to f32".
std::vector<std::string> matrix_texts(const Caps& caps);

struct OpenOptions {
  Timeline* timeline = nullptr;  // of the self-test of a device that is new here: a span is added
  std::function<void(const std::string& sentence)> warn;  // what that finds wrong; may be empty
  std::optional<CachePtr> cache = {};                     // nothing: the user's
  HostAllocatorPtr allocator = {};  // of tensors in the host's memory; null: the process's
};
// Opens the device of a choice other than kReference. A Vulkan device that is new here is tested
// first.
Result<std::unique_ptr<Device>> open_device(const DeviceChoice& choice,
                                            const OpenOptions& options = {});

// A Vulkan device of the application's own, as open_device does it.
Result<std::unique_ptr<Device>> adopt_device(const GivenDevice& given, const OpenOptions& options);

// What compile may know about it; opens nothing but the CPU.
Result<Caps> caps_of(const DeviceChoice& choice);

}  // namespace tuff
