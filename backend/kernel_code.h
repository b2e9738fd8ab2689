// Kernels as a device's compiler made them, for other processes to load.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tuff {

// SPIR-V by the SHA-256 of the GLSL that it was made of, in hexadecimal. Immutable once shared.
using KernelCode = std::map<std::string, std::vector<uint32_t>>;
using KernelCodePtr = std::shared_ptr<const KernelCode>;

}  // namespace tuff
