// Runs the installed GLSL compiler and SPIR-V validator over a shader.
#pragma once

#include <string>

#include "shaders/emit/emit_glsl.h"

namespace tuff {

// False where a tool was not found when the tests were configured.
bool can_validate_glsl();

// What the tools complain about; empty when the shader compiles and is valid.
std::string validate_glsl(const GlslShader& shader, const std::string& name);

}  // namespace tuff
