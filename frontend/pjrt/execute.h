// One run of a loaded executable, as the queue of one of its devices does it.
#pragma once

#include <vector>

#include "frontend/pjrt/handles.h"

namespace tuff::pjrt {

struct DeviceRun {
  Runtime* runtime = nullptr;  // whose queue has the run, and does it before it goes
  std::shared_ptr<const DeviceProgram> program;
  std::vector<StoragePtr> arguments, outputs;
  CompletionPtr done = std::make_shared<Completion>();
};

using DeviceRunPtr = std::shared_ptr<DeviceRun>;

// Runs a program on a device; gives its outputs, in memory that is made here.
Result<std::vector<BufferPtr>> run_program(Runtime& runtime, const Loaded& program,
                                           const std::vector<BufferPtr>& arguments);

// Ends the run. What was donated is free before anybody hears of it.
void finish_run(DeviceRun& run, Status status);

}  // namespace tuff::pjrt
