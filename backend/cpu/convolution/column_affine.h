// x * scale[j] + shift[j] in column j: what a bias, or batch normalisation with known
// statistics, does to the result of a contraction.
#pragma once

#include <span>
#include <vector>

#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// The post-ops that a call's list begins with, as long as they are of this kind, in one.
class ColumnAffine {
 public:
  ColumnAffine(const PostOpList& post_ops, int64_t columns);

  // How many post-ops these are, and how many of them have an operand.
  size_t size() const { return post_ops_.size(); }
  size_t num_operands() const { return num_operands_; }
  // Whether there is more than a shift.
  bool scales() const { return scales_; }

  // Computes scale and shift; `operands`: one per post-op that has an operand. False where
  // other rounding could make another number of the result: factors that leave the range in
  // which products with them are safe, or none at all.
  bool compute(std::span<const CallOperand> operands);
  // By column, of the last compute().
  const std::vector<float>& scale() const { return scale_; }
  const std::vector<float>& shift() const { return shift_; }

 private:
  PostOpList post_ops_;
  size_t num_operands_ = 0;
  bool scales_ = false;
  std::vector<float> scale_, shift_;
};

}  // namespace tuff::cpu
