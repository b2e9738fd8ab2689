// The last step of a module with cooperative matrices: their component types.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/support/result.h"

namespace tuff {

// GLSL has matrices as spirv_type with a number for the component type (shaders/
// emit_glsl_matrix.h). Each becomes the type itself, declared ahead of all others. Modules
// without matrices stay as they are. Errors: kRunFailed for what is no such module.
Status set_matrix_components(std::vector<uint32_t>& words);

// Whether a module declares cooperative matrices.
bool has_matrices(std::span<const uint32_t> words);

}  // namespace tuff
