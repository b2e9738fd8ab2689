// The post-ops of a convolution of our own, done while the result is stored.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "backend/cpu/convolution/column_affine.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/library_call.h"
#include "shaders/library_call.h"

namespace tuff::cpu {

// The function that a post-op is; null: none.
RowsFn rows_function(PostOp::Kind kind, const LaneTable& table);

// Post-ops that one pass can do (is_one_pass). They become
// result[r, j] = function(min(max((sum over l of a[r, l] * (b[l, j] * factors[j]) + addend[r, j]) +
//                                 shifts[j], least), most)).
class OnePass {
 public:
  OnePass(const PostOpList& post_ops, int64_t rows, int64_t columns, const LaneTable& table);

  // For a run. operands: one per post-op that has an operand, and the result's; result: where
  // that begins.
  void begin(std::span<const CallOperand> operands, float* result);
  bool scales() const { return affine_.scales(); }
  // By column; all 1 unless it scales().
  const std::vector<float>& factors() const { return folds_ ? affine_.scale() : ones_; }
  // Those that packed weights have in them; empty unless it scales().
  const std::vector<float>& packed_factors() const { return scales() ? factors() : none_; }
  const float* addend() const;  // laid out like the result, and perhaps it; null: 0
  const float* shifts() const { return folds_ ? affine_.shift().data() : nullptr; }  // null: 0
  float least() const { return folds_ ? least_ : -std::numeric_limits<float>::infinity(); }
  float most() const { return folds_ ? most_ : std::numeric_limits<float>::infinity(); }
  RowsFn function() const { return folds_ ? function_ : nullptr; }  // null: none
  // The post-ops as they stand, where folding them could make another number of the result.
  void finish();

 private:
  const LaneFn* lanes_of(PostOp::Kind kind) const;

  const LaneTable& table_;
  PostOpList post_ops_;
  ColumnAffine affine_;
  std::vector<float> ones_, none_;
  int64_t rows_, columns_;
  bool adds_ = false;  // an operand of the result's shape, the last one
  float least_ = -std::numeric_limits<float>::infinity();
  float most_ = std::numeric_limits<float>::infinity();
  RowsFn function_ = nullptr;
  // Of this run:
  std::span<const CallOperand> operands_;
  float* result_ = nullptr;
  bool folds_ = false;
  std::vector<float> addend_;  // a copy of what lies where the result goes
};

}  // namespace tuff::cpu
