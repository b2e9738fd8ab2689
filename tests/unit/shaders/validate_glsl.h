// What tests of emitted GLSL share: the installed GLSL compiler and SPIR-V validator.
#pragma once

#include <string>

#include "shaders/emit/emit_glsl.h"

namespace tuff {

// The text of a shader without the maths it shares with others.
std::string without_prelude(const std::string& glsl);

// False where a tool was not found when the tests were configured.
bool can_validate_glsl();

// What the tools complain about; empty when the shader compiles and is valid.
std::string validate_glsl(const GlslShader& shader, const std::string& name);

}  // namespace tuff
