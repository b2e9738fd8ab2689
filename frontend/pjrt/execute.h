// One run of a loaded executable, as the queue of one of its devices does it.
#pragma once

#include <vector>

#include "frontend/pjrt/handles.h"

namespace tuff::pjrt {

struct DeviceRun {
  Runtime* runtime = nullptr;  // whose queue has the run, and does it before it goes
  std::shared_ptr<const DeviceProgram> program;
  std::vector<StoragePtr> arguments, outputs;
  std::vector<bool> donated;  // by argument
  CompletionPtr done = std::make_shared<Completion>();
};

using DeviceRunPtr = std::shared_ptr<DeviceRun>;

// Runs a program on a device; gives its outputs, in the memory that is given for some of
// them and new memory for the others.
Result<std::vector<BufferPtr>> run_program(Runtime& runtime, const Loaded& program,
                                           const std::vector<BufferPtr>& arguments,
                                           std::vector<BufferPtr> outputs = {});

// Ends the run. What was donated is free before anybody hears of it.
void finish_run(DeviceRun& run, Status status);

}  // namespace tuff::pjrt
