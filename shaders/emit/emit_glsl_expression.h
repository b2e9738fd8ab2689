// GLSL expressions of the elementwise statements.
#pragma once

#include <string>
#include <vector>

#include "shaders/emit/emit_glsl_types.h"
#include "shaders/kernel/kernel.h"

namespace tuff {

// The text of an operand and its type.
struct GlslValue {
  std::string text;
  DType dtype = DType::kI32;
};

// The expression of a kCompute, kConvert or kBitcast statement, rounded or
// wrapped to the type of the result. kUnsupported where GLSL has no such op.
Result<std::string> glsl_expression(const Stmt& stmt, const std::vector<GlslValue>& operands,
                                    const Caps& caps, GlslNeeds& needs);

}  // namespace tuff
