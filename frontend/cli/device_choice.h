// --device: which device a word means, and why.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/vulkan/vulkan.h"

namespace tuff::cli {

// auto | vulkan[:I] | cpu | reference.
struct DeviceSpec {
  enum class Kind { kAuto, kVulkan, kCpu, kReference };
  Kind kind = Kind::kAuto;
  int index = -1;  // kVulkan: -1 is the best one
};

// Errors: kUsage listing what is possible.
Result<DeviceSpec> parse_device(const std::string& text);

// What a spec means on this machine. No device is opened.
struct DeviceChoice {
  DeviceSpec::Kind kind = DeviceSpec::Kind::kCpu;  // never kAuto
  int index = 0;                                   // kVulkan
  std::string why;                                 // "the only hardware Vulkan device"
};

// auto: the best hardware Vulkan device, else the CPU, never software Vulkan,
// which is slower than our own CPU device. With require_gpu, a choice that is not
// Vulkan is kFallbackRefused. Errors: kNoDevice.
Result<DeviceChoice> choose_device(const DeviceSpec& spec, bool require_gpu = false);

// The Vulkan devices, as the user's cache knows them.
Result<std::vector<DeviceInfo>> list_vulkan_devices();

// What subgroups of a device multiply as matrices: "16x16x16 f16 to f32".
std::vector<std::string> matrix_texts(const Caps& caps);

// Opens the device of a choice other than kReference. A Vulkan device that is new here is
// tested first: a span of the timeline, which may be null; what is wrong is a warning.
Result<std::unique_ptr<Device>> open_device(const DeviceChoice& choice,
                                            Timeline* timeline = nullptr);

// What compile may know about it; opens nothing but the CPU.
Result<Caps> caps_of(const DeviceChoice& choice);

}  // namespace tuff::cli
