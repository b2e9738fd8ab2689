// A program over several devices: what there is of it besides each segment's program.
#pragma once

#include "frontend/pjrt/execute.h"
#include "frontend/pjrt/host_memory.h"
#include "ir/spmd/partition.h"
#include "ir/spmd/segments.h"

namespace tuff::pjrt {

struct SpreadProgram {
  SegmentedProgram program;
  // The process of each device of the assignment; empty where all are this one's.
  std::vector<int> ranks;
  uint64_t identity = 0;         // of program and devices: the same in all processes
  std::vector<size_t> last_use;  // SegmentedProgram::last_uses()
  std::vector<std::optional<size_t>> exchanged_by;
  std::string signature;         // what a user knows it by: the name and the arguments' types
  std::shared_ptr<HostMemory> host_memory = HostMemory::create();  // what exchanges need
  // The whole program's types and shardings as an MLIR module, for callers who ask where
  // results are.
  std::string description;
};

// The program of each of `devices`, on those that `loaded` has; fills in `info`. Errors:
// kUnsupported for what cannot be partitioned.
Status load_spread(std::string_view source, const DeviceAssignment& assignment,
                   const std::vector<DeviceHandle*>& devices, LoadedHandle* loaded,
                   ExecutableInfo* info);

// Queues the devices' shares of one run. Thread-safe.
void queue_spread(const LoadedHandle& loaded, const std::vector<DeviceRunPtr>& runs);

}  // namespace tuff::pjrt
