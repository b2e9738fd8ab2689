// Convolution weights times a factor per output channel.
#pragma once

#include <memory>
#include <vector>

#include "backend/cpu/derived_operand.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

class ScaledWeights {
 public:
  // f32 weights [groups, co, ci, spatial..] in one group that lie without gaps.
  static bool can_scale(const StridedTensor& weights);
  explicit ScaledWeights(const StridedTensor& weights);
  // For a copy that is read as it is: the owner keeps it for as long as weights and factors stay
  // the same.
  void keep_in(DerivedOwner& owner);

  // The copy, laid out as the weights are but for their offset, until end(); null where there is
  // no memory.
  CallOperand scale(const CallOperand& weights, const std::vector<float>& factors);
  void end();

 private:
  int64_t size_bytes() const { return outer_ * channels_ * inner_ * 4; }
  void scale_part(const float* weights, int64_t part, const std::vector<float>& factors,
                  float* to) const;

  int64_t channels_ = 0, inner_ = 0, outer_ = 0, offset_ = 0;
  std::unique_ptr<DerivedOperand> kept_;
  DerivedOperand::Use use_;
  AlignedBytes copy_;  // of one run
};

}  // namespace tuff::cpu
