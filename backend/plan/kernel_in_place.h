// May a kernel write its result where an operand lies?
#pragma once

#include "shaders/kernel/kernel.h"

namespace tuff {

// True only if the kernel computes the same when `written` and `read` are the same
// memory. It does where each lane reads of `read` only the very element that it then
// stores to `written`, or what it does not use.
bool writes_where_it_reads(const Kernel& kernel, uint32_t read, uint32_t written);

}  // namespace tuff
