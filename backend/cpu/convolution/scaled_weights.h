// Convolution weights times a factor per output channel.
#pragma once

#include <vector>

#include "backend/cpu/kernels/execute_kernel.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// A copy that is kept for as long as weights and factors stay the same.
class ScaledWeights {
 public:
  // f32 weights [groups, co, ci, spatial..] in one group that lie without gaps.
  static bool can_scale(const StridedTensor& weights);
  explicit ScaledWeights(const StridedTensor& weights);

  // The copy, laid out as the weights are but for their offset, and its version; version
  // 0 where there is no memory.
  CallOperand scale(const CallOperand& weights, const std::vector<float>& factors);
  // Gives the memory back; until something changes `scale` answers with the version alone.
  void drop_copy() { copy_ = nullptr; }

 private:
  void scale_part(const float* weights, int64_t part, const std::vector<float>& factors) const;

  int64_t channels_ = 0, inner_ = 0, outer_ = 0, offset_ = 0;
  uint64_t scaled_version_ = 0, version_ = 0;
  std::vector<float> factors_;
  AlignedBytes copy_;
};

}  // namespace tuff::cpu
