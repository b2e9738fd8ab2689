#pragma once

#include <cstddef>
#include <vector>

#include "backend/cpu/native/allocate.h"
#include "backend/cpu/native/machine.h"

namespace tuff::cpu::native {

// Whether this build has an encoder at all: x86-64 with Xbyak.
bool can_encode();

// The bytes of a function int64_t(NativeContext*) that lies at any address; empty where it cannot
// be encoded.
std::vector<std::byte> encode(const MachineCode& code, const Allocation& allocation);

}  // namespace tuff::cpu::native
