// Cooperative matrices in GLSL. They are written with spirv_intrinsics, which every compiler has,
// for many have no GL_KHR_cooperative_matrix. There a type can have no type as its parameter: a
// number stands for the component type, which the backend replaces in the compiled module
// (backend/vulkan/pipelines/spirv_matrix.h).
#pragma once

#include <string>

#include "shaders/kernel/kernel.h"

namespace tuff {

// The number of a component type: its width, and 256 more for signed integers.
inline constexpr uint32_t kGlslSignedComponent = 256;

// Types and functions, ahead of main().
std::string glsl_matrix_declarations(const SubgroupMatrices& matrices);

}  // namespace tuff
