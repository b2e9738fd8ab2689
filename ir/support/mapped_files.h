// How much of this process's address space is files mapped to be read. The system counts such
// memory as free, since it can read it again; whoever plans with what is free must not.
#pragma once

#include <atomic>
#include <cstdint>

namespace tuff {

inline std::atomic<int64_t> mapped_file_bytes = 0;

}  // namespace tuff
