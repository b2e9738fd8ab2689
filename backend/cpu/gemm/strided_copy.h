// Copies between two strided arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/lanes/lane_table.h"
#include "ir/type.h"

namespace tuff::cpu {

// Where the elements of an array lie: at data[sum i_d * strides_d], in elements.
struct StridedArray {
  std::byte* data = nullptr;
  const std::vector<int64_t>& strides;
  DType dtype = DType::kF32;
};

// to[i] = from[i] over all indices below sizes, converted (see Op::kConvert) where the types
// differ; any rank >= 1.
void strided_copy(const std::vector<int64_t>& sizes, const StridedArray& from,
                  const StridedArray& to, const LaneTable& table);

}  // namespace tuff::cpu
