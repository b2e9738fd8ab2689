// The self-test of a device: on first use small problems with known answers run on it
// (self_test_probes.h). A capability that the driver claims and gets wrong is turned off; a
// device that gets a whole kernel family wrong is not used. The verdict is kept in the disk
// cache, so that later processes read one small file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/cache.h"
#include "backend/vulkan/device_plan.h"
#include "backend/vulkan/self_test/self_test_probes.h"

namespace tuff {

struct SelfTestVerdict {
  // Names of the capabilities to turn off; one that has degrees may come several times.
  std::vector<std::string> off;
  // What is wrong whatever is off: "the device computes sorts wrong (...)". Empty: nothing.
  std::string failure;
  bool operator==(const SelfTestVerdict&) const = default;
};

// Runs a probe on a device. The clause that says what is wrong, or an empty one; an error
// where nothing more can be said about the device (it is lost, or out of memory).
// Called from several threads.
using RunProbe = std::function<Result<std::string>(const Probe& probe)>;

// Which capabilities of `caps` must be off for all probes to come out right.
Result<SelfTestVerdict> judge_device(const Caps& caps, const RunProbe& run);

// The plan as the verdict leaves it; what is off joins its quirks. Errors: kNoDevice where a
// family fails.
Status apply_verdict(const SelfTestVerdict& verdict, const DeviceSnapshot& snapshot,
                     DevicePlan& plan);

// Text of a verdict, and back; nothing for a text that is none.
std::string print_verdict(const SelfTestVerdict& verdict);
std::optional<SelfTestVerdict> parse_verdict(const std::string& text);

// What is known of a device. Where `cache` is null, this process keeps what it learns.
std::optional<SelfTestVerdict> find_verdict(DiskCache* cache, const DeviceSnapshot& snapshot);
void keep_verdict(DiskCache* cache, const DeviceSnapshot& snapshot, const SelfTestVerdict& verdict);

}  // namespace tuff
