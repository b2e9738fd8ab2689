#include "backend/vulkan/pipelines/compiler.h"

#include <fmt/format.h>

#include <shaderc/shaderc.hpp>
#include <spirv-tools/libspirv.hpp>

#include "backend/vulkan/pipelines/spirv_matrix.h"

namespace tuff {

namespace {

// Vulkan 1.1 has all our kernels need and runs on every device we take.
constexpr const char* kTargetName = "vulkan1.1 spirv1.3 level-zero";

shaderc::CompileOptions options() {
  shaderc::CompileOptions options;
  options.SetTargetEnvironment(shaderc_target_env_vulkan, shaderc_env_version_vulkan_1_1);
  options.SetTargetSpirv(shaderc_spirv_version_1_3);
  options.SetOptimizationLevel(shaderc_optimization_level_zero);
  return options;
}

}  // namespace

Result<std::vector<uint32_t>> compile_glsl(const std::string& text) {
  static const shaderc::Compiler compiler;
  shaderc::SpvCompilationResult result =
      compiler.CompileGlslToSpv(text, shaderc_compute_shader, "kernel", options());
  if (result.GetCompilationStatus() != shaderc_compilation_status_success)
    return Error{ErrorCode::kRunFailed,
                 fmt::format("A kernel's GLSL does not compile, which is a bug in tuff: {}",
                             result.GetErrorMessage()),
                 ""};
  std::vector<uint32_t> words(result.cbegin(), result.cend());
  TUFF_RETURN_IF_ERROR(set_matrix_components(words));
  return words;
}

namespace {

// Validators older than the extension refuse all of it.
bool knows_matrices(const spvtools::SpirvTools& tools) {
  static const bool knows = [&] {
    std::vector<uint32_t> words;
    return tools.Assemble("OpCapability CooperativeMatrixKHR", &words);
  }();
  return knows;
}

}  // namespace

Status validate_spirv(std::span<const uint32_t> words) {
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_1);
  std::string messages;
  tools.SetMessageConsumer(
      [&](spv_message_level_t, const char*, const spv_position_t& position, const char* message) {
        messages += fmt::format("word {}: {}; ", position.index, message);
      });
  if (tools.IsValid() && has_matrices(words) && !knows_matrices(tools)) return {};
  if (tools.IsValid() && tools.Validate(words.data(), words.size())) return {};
  return Error{ErrorCode::kRunFailed, fmt::format("A kernel's SPIR-V is not valid: {}", messages),
               ""};
}

std::string spirv_cache_key(const std::string& text) {
  return fmt::format("tuff {}\nshaderc {}\n{}\n{}\n{}", TUFF_VERSION, TUFF_SHADERC_VERSION,
                     spvSoftwareVersionDetailsString(), kTargetName, text);
}

}  // namespace tuff
