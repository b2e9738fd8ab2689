// Constant folding of what unrolled loops leave behind: index arithmetic whose
// operands are known, and identities.
#pragma once

#include <optional>
#include <vector>

#include "shaders/kernel/kernel.h"

namespace tuff {

// The value of a kCompute statement over resolved operands when it needs no code:
// an immediate, or one of the operands. Floats are never computed here.
std::optional<Operand> fold_compute(const Stmt& stmt, const std::vector<Operand>& operands);

}  // namespace tuff
