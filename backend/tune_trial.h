// One group under one schedule, alone on a device: what it computes and how long it takes.
#pragma once

#include <functional>

#include "backend/device.h"
#include "backend/executable.h"
#include "shaders/schedule/contraction_schedule.h"

namespace tuff {

// The value of argument i of a group, of the type.
using MakeArgument = std::function<Literal(uint32_t i, const TensorType& type)>;

class GroupTrial {
 public:
  // Compiles and loads the group with caps of the device that may say other schedules. Errors:
  // those of compile and load; kUnsupported where the device cannot time steps.
  static Result<GroupTrial> create(Device& device, const GraphPtr& region, const Caps& caps,
                                   const MakeArgument& make_argument);

  Result<std::vector<Literal>> outputs();  // of a run of its own
  // Milliseconds that the group's kernels take in one run.
  Result<double> run_ms();

 private:
  explicit GroupTrial(Executable executable) : executable_(std::move(executable)) {}

  Executable executable_;
};

}  // namespace tuff
