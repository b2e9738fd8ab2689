// Copies between two strided arrays of floats.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cpu/execute_kernel.h"

namespace tuff::cpu {

// to[sum i_d * to_strides_d] = from[sum i_d * from_strides_d] over all indices below
// sizes; any rank >= 1.
void strided_copy(const std::vector<int64_t>& sizes, const float* from,
                  const std::vector<int64_t>& from_strides, float* to,
                  const std::vector<int64_t>& to_strides);

}  // namespace tuff::cpu
