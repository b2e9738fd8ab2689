// What memory the machine has, or lends this process.
#pragma once

#include <cstdint>
#include <string>

#include "ir/support/result.h"

namespace tuff::cpu {

struct MachineMemory {
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;  // unused, or holding copies of files that can be read again
};

// The least of what the machine and the control groups of this process have. `root` has the folders
// proc and sys. Where the system tells nothing, half of the machine's memory counts as free.
MachineMemory machine_memory(const std::string& root = "");

// "512MiB", "2GiB", "1.5G", "0": units are powers of 1024, without one it is bytes. Errors: kUsage.
Result<int64_t> parse_memory_size(const std::string& text);

}  // namespace tuff::cpu
