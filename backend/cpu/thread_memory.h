// Working memory of the running thread, for what it does between two calls of this.
#pragma once

#include <cstddef>

namespace tuff::cpu {

// At least this many bytes, aligned to a cache line, with anything in them; null where there is
// no memory. All that run on a thread share them, so a steady state allocates nothing.
std::byte* thread_memory(size_t size_bytes);

}  // namespace tuff::cpu
