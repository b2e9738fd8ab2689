// Bugs sown into compiled programs, to show that the fuzzer finds such.
#pragma once

#include <memory>

#include "backend/program.h"

namespace tuff::fuzz {

enum class Bug {
  kNone,
  kIndex,     // the last load reads the element after its own
  kGuard,     // loads and stores happen where their guards forbid them
  kRounding,  // 16-bit floats are rounded at the end only, not after every operation
};

// The program with the bug in every kernel that has a place for it.
std::shared_ptr<const Program> sow(std::shared_ptr<const Program> program, Bug bug);

}  // namespace tuff::fuzz
