// Attention whose columns several workgroups share: each leaves what it has of a row in scratch
// memory, and another kernel makes results of that.
#pragma once

#include "shaders/families/family.h"

namespace tuff {

// By part: sums of weighted values, each as the space lies; then of each row the largest logit, and
// the sum of weights relative to it.
class AttentionScratch {
 public:
  AttentionScratch(const GroupContext& group, int64_t parts);

  TensorType type() const { return {DType::kF32, {parts_ * (points_ + 2 * rows_)}}; }
  // Where the space's variables stand.
  IndexExpr result(const GroupSpace& space, const IndexExpr& part) const;
  IndexExpr largest(const GroupSpace& space, const IndexExpr& part) const;
  IndexExpr sum(const GroupSpace& space, const IndexExpr& part) const;

 private:
  IndexExpr row(const GroupSpace& space) const;

  std::vector<size_t> row_dims_;
  int64_t parts_, points_, rows_;
};

Result<LoweredStep> lower_attention_fold(GroupContext& group, int64_t parts);

}  // namespace tuff
