// Library calls that are so small that they are written out.
#pragma once

#include <span>

#include "backend/cpu/native/kernel_code.h"
#include "shaders/library_call.h"

namespace tuff::cpu::native {

// False: too large, or nothing there is code for. `operands` as the call has them.
// Nothing but operands has changed afterwards.
bool write_call(MachineCode& code, const Call& call, std::span<const MemoryPlace> operands,
                const KnownMemory& memory);

}  // namespace tuff::cpu::native
