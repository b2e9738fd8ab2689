// Runs a program for several devices on the reference evaluator: no device, no threads.
#pragma once

#include "ir/spmd/partition.h"
#include "ir/spmd/segments.h"

namespace tuff {

struct PartsRun {
  std::vector<Literal> outputs;  // whole
  SegmentedProgram program;
  PartProgram part;
};

// The outputs of all devices put together; of values that several devices hold, all must
// be equal. Errors: what partitioning refuses.
Result<PartsRun> run_parts(const WholeProgram& whole, const std::vector<Literal>& arguments,
                           int64_t batch_bytes = kBatchBytes);

}  // namespace tuff
