// Lowering: a fused group becomes kernels and library calls with their bindings.
#pragma once

#include <optional>
#include <vector>

#include "ir/caps.h"
#include "ir/graph.h"
#include "ir/group/group_space.h"
#include "shaders/kernel/kernel.h"
#include "shaders/library_call.h"

namespace tuff {

// A tensor a lowered step touches, seen from the group.
struct GroupBuffer {
  enum class Kind : uint8_t { kInput, kOutput, kScratch };
  Kind kind = Kind::kInput;
  uint32_t index = 0;  // region parameter or region output
  // A part of the scratch memory; size 0: all of it.
  int64_t offset_bytes = 0, size_bytes = 0;
  bool operator==(const GroupBuffer&) const = default;
};

struct LoweredStep {
  std::optional<Kernel> kernel;  // else a call
  std::vector<int32_t> params;
  int64_t workgroups = 0;
  Call call;
  std::vector<GroupBuffer> bindings;  // the kernel's buffers in order; calls: see library_call.h
};

// The kernel's family, or "library matmul" and so on: for people.
std::string step_name(const LoweredStep& step);

struct LoweredGroup {
  std::vector<LoweredStep> steps;  // none when every output is empty
  int64_t scratch_bytes = 0;       // temporary of the group alone
  // Outputs that the steps change in part only: before the first step the output's
  // memory must hold the input's value.
  struct Update {
    uint32_t output = 0, input = 0;  // region output, region parameter
  };
  std::vector<Update> updates;
};

// An output that shall be written where an input lies: a donated argument.
struct Replacement {
  uint32_t output = 0, input = 0;  // region output, region parameter
  bool operator==(const Replacement&) const = default;
};

// Of several steps none but the last to read the input of a replacement writes its output.
// Errors: kUnsupported when an index does not fit 32 bits or a limit of the device
// stands in the way.
Result<LoweredGroup> lower_group(const Node& fused, const Caps& caps,
                                 const std::vector<Replacement>& replacements = {});

}  // namespace tuff
