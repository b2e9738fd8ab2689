#include "validate_glsl.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#ifndef TUFF_GLSLANG_VALIDATOR
#define TUFF_GLSLANG_VALIDATOR ""
#endif
#ifndef TUFF_SPIRV_VAL
#define TUFF_SPIRV_VAL ""
#endif

namespace tuff {

namespace {

// The output of a command that fails, else nothing.
std::string complaint_of(const std::string& command, const std::string& log) {
  if (std::system((command + " > '" + log + "' 2>&1").c_str()) == 0) return "";
  std::ifstream file(log);
  std::stringstream text;
  text << file.rdbuf();
  return text.str() + "(" + command + ")";
}

}  // namespace

std::string without_prelude(const std::string& glsl) {
  size_t begin = glsl.find("// prelude\n"), end = glsl.find("void main()");
  return begin == std::string::npos ? glsl : glsl.substr(0, begin + 11) + glsl.substr(end);
}

bool can_validate_glsl() {
  return std::string(TUFF_GLSLANG_VALIDATOR) != "" && std::string(TUFF_SPIRV_VAL) != "";
}

std::string validate_glsl(const GlslShader& shader, const std::string& name) {
  std::string base = testing::TempDir() + "tuff_" + name;
  std::string source = base + ".comp", module = base + ".spv", log = base + ".log";
  std::ofstream(source) << shader.text;
  // Buffer addresses came with Vulkan 1.2.
  std::string target =
      std::string(" --target-env ") + (shader.num_addresses > 0 ? "vulkan1.2" : "vulkan1.1");
  std::string complaint = complaint_of(std::string("'") + TUFF_GLSLANG_VALIDATOR + "' -V" + target +
                                           " '" + source + "' -o '" + module + "'",
                                       log);
  // Matrices' types have numbers for components until the Vulkan device sets them.
  bool unfinished = shader.text.find("SPV_KHR_cooperative_matrix") != std::string::npos;
  if (complaint.empty() && !unfinished)
    complaint =
        complaint_of(std::string("'") + TUFF_SPIRV_VAL + "'" + target + " '" + module + "'", log);
  for (const std::string& file : {source, module, log}) std::remove(file.c_str());
  return complaint;
}

}  // namespace tuff
