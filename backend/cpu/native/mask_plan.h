// Which bools stay in AVX-512's opmasks between the instructions that make and use them.
#pragma once

#include <vector>

#include "backend/cpu/native/machine.h"

namespace tuff::cpu::native {

// Numbers of the opmasks that hold an instruction's result and operands; 0: a vector does.
struct MaskUse {
  uint8_t out = 0, a = 0, b = 0, c = 0;
  bool vector_too = false;  // somebody reads the result as a vector
};

// By instruction. Opmask 1 is left to the encoder.
std::vector<MaskUse> plan_masks(const MachineCode& code);

}  // namespace tuff::cpu::native
