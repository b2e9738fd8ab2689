// May two buffers of a kernel be one range of memory?
#pragma once

#include "shaders/kernel/kernel.h"

namespace tuff {

// True only if the kernel computes the same when `written` and `read` are the same
// memory: each lane reads of `read` only the very element that it then stores to
// `written`. (A loaded value stays what it was, whatever is stored later.)
bool may_share_memory(const Kernel& kernel, uint32_t read, uint32_t written);

}  // namespace tuff
