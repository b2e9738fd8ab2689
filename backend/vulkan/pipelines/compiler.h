// GLSL -> SPIR-V, and the check every module passes before a driver sees it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/support/result.h"

namespace tuff {

// Thread-safe. Level zero: the optimiser costs up to 100 times more and gains
// nothing the drivers do not do again. Errors: kRunFailed with the compiler's words.
Result<std::vector<uint32_t>> compile_glsl(const std::string& text);

// spirv-val for the environment we compile for. Modules with cooperative matrices pass unseen
// where it does not know them.
Status validate_spirv(std::span<const uint32_t> words);

// Everything the SPIR-V of a text depends on: the disk cache's key.
std::string spirv_cache_key(const std::string& text);

}  // namespace tuff
