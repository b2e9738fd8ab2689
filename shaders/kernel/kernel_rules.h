// The larger rules of verify_kernel.
#pragma once

#include <string>

#include "shaders/kernel/kernel.h"

namespace tuff {

// What is wrong, and the statement it is wrong with; no text when all is well.
struct Complaint {
  std::string text;
  const Stmt* stmt = nullptr;
};

// Values are defined once, before use and in a block around it; uses name the
// type of the definition.
Complaint scope_rule(const Kernel& kernel);

// Operand and result types of one statement fit its kind, op and target.
std::string types_rule(const Kernel& kernel, const Stmt& stmt);

// Subgroups, matrices and tiles fit each other; statements name arrays that hold what they say.
std::string matrices_rule(const Kernel& kernel);
std::string matrix_rule(const Kernel& kernel, const Stmt& stmt);

// Array indices whose exact range is known lie in the array.
Complaint ranges_rule(const Kernel& kernel);

}  // namespace tuff
