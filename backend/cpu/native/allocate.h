#pragma once

#include <vector>

#include "backend/cpu/native/machine.h"

namespace tuff::cpu::native {

// Where a register lives: number of one of the processor's, or a slot on the stack.
struct Place {
  bool in_register = false;
  uint8_t number = 0;
  int64_t offset = 0;  // from the stack pointer
};

struct Allocation {
  std::vector<Place> places;  // by register
  // By id. Those that loops read are in vector registers that nothing else needs, from the
  // beginning of the code on; the others have no place but memory.
  std::vector<Place> constants;
  int64_t stack_bytes = 0;  // the code's own slots and those of registers
};

// Of the processor's registers the encoder keeps for itself the last three vectors, rax, rcx, rdx,
// rbx with the context, r15 with the bases and the stack pointer.
inline int vector_registers(const MachineCode& code) { return code.is_wide() ? 29 : 13; }

// Drops instructions whose results nobody reads, then places the rest by linear scan.
Allocation allocate_registers(MachineCode& code);

}  // namespace tuff::cpu::native
