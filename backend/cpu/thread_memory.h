// Working memory of the running thread, for what it does between two calls of this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/support/result.h"

namespace tuff::cpu {

// At least this many bytes, aligned to a cache line, with anything in them; null where there is
// no memory. All that run on a thread share them, so a steady state allocates nothing.
std::byte* thread_memory(size_t size_bytes);
// The error where a part of a call gets none.
Error no_memory_for_part(int64_t size_bytes);
// What a call may keep there of its operands for a run: that memory stays.
inline constexpr int64_t kMaxBytesOfRun = int64_t{64} << 20;

}  // namespace tuff::cpu
