// What a caller's CompileOptionsProto says about where a program runs; the rest of it
// is about XLA.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/result.h"

namespace tuff::pjrt {

// Device ids by replica, then by partition.
struct DeviceAssignment {
  int64_t num_replicas = 1, num_partitions = 1;
  std::vector<int64_t> device_ids;  // empty: the caller leaves the choice to us

  // As a DeviceAssignmentProto.
  std::string serialize() const;
};

// Errors: kBadInput for bytes that are no such message, and for a compiler option that
// neither we nor XLA have.
Result<DeviceAssignment> parse_compile_options(std::string_view bytes);

}  // namespace tuff::pjrt
