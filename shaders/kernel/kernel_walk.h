// Walking and printing the statements of a Kernel, for passes and messages.
#pragma once

#include <string>

#include "shaders/kernel/kernel.h"

namespace tuff {

// Calls visit(stmt) on every statement of the block and of the bodies inside it,
// a statement before its body. Block may be const.
template <typename AnyBlock, typename Visit>
void for_each_stmt(AnyBlock& block, Visit&& visit) {
  for (auto& stmt : block) {
    visit(stmt);
    for_each_stmt(stmt.body, visit);
  }
}

// True iff `result` is a loop variable, visible in the body only.
bool is_loop(Stmt::Kind kind);
// True iff all it does is to compute `result` of its operands.
bool is_pure(Stmt::Kind kind);
// True iff `result` is a let, visible in the rest of the block.
bool is_let(Stmt::Kind kind);
bool is_matrix(Stmt::Kind kind);
// True iff it has a body whose lets are visible there only.
bool is_scope(Stmt::Kind kind);

// How many lanes a kReduceLanes folds.
int64_t reduced_lanes(const Kernel& kernel, const Stmt& stmt);

// One statement as print_kernel prints it, its body included; ends in a newline.
std::string print_stmt(const Kernel& kernel, const Stmt& stmt);

}  // namespace tuff
