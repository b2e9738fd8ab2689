// How wide each barrier of a recording has to be. Where barriers stand is the program's plan
// (Step::barrier); this says what they wait for. Pure; tested without a device.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/vulkan/instance/loader.h"

namespace tuff {

// What a command does with a range of a buffer.
struct Touch {
  uint64_t buffer = 0;  // a number that is its own
  int64_t offset_bytes = 0, size_bytes = 0;
  bool written = false;
};

// A dispatch or a copy, in the order of recording.
struct TouchingCommand {
  std::vector<Touch> touches;
  bool copy = false;
  bool barrier = false;  // one stands before it
};

// No stages: nothing has to be waited for. No access: reads must end before something is written
// over, and caches keep what they hold.
struct BarrierMasks {
  VkPipelineStageFlags before = 0, after = 0;
  VkAccessFlags written = 0, accessed = 0;
  bool operator==(const BarrierMasks&) const = default;
};

// One entry a command. Each conflict of two commands with a barrier between them is waited for by
// the last of these, unless one before has done so.
std::vector<BarrierMasks> plan_barriers(const std::vector<TouchingCommand>& commands);

}  // namespace tuff
