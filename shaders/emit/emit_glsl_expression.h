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

// The expression of a kCompute, kConvert, kBitcast or kPack statement, rounded or
// wrapped to the type of the result; of f16 not where it is `rounded_later`. kUnsupported where
// GLSL has no such op.
Result<std::string> glsl_expression(const Stmt& stmt, const std::vector<GlslValue>& operands,
                                    bool rounded_later, const Caps& caps, GlslNeeds& needs);

// By value: an f16 that nothing but stores to buffers of 16 bits an element reads. They round.
std::vector<bool> rounded_by_stores(const Kernel& kernel, const Caps& caps);

}  // namespace tuff
