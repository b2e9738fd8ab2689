#include "backend/cpu/convolution/column_affine.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tuff::cpu {

namespace {

bool is_affine(const PostOp& op) {
  using With = PostOp::With;
  return op.kind <= PostOp::Kind::kDivide &&
         (op.with == With::kValue || op.with == With::kScalar || op.with == With::kColumn);
}

bool is_shift(const PostOp& op) {
  return op.kind == PostOp::Kind::kAdd || op.kind == PostOp::Kind::kSubtract;
}

bool is_safe_factor(float factor) {
  constexpr float kLeast = 0x1p-40f, kMost = 0x1p40f;
  float size = std::abs(factor);
  return (factor == 0) | ((size >= kLeast) & (size <= kMost));
}
bool is_finite(float value) { return std::abs(value) <= std::numeric_limits<float>::max(); }

// Whether all are so. Without a way out of the loop, which compilers make vectors of.
template <typename Test>
bool all_are(const std::vector<float>& values, const Test& test) {
  int others = 0;
  for (float value : values) others |= !test(value);
  return others == 0;
}

}  // namespace

ColumnAffine::ColumnAffine(const PostOpList& post_ops, int64_t columns) {
  auto end = std::find_if_not(post_ops.begin(), post_ops.end(), is_affine);
  post_ops_.assign(post_ops.begin(), end);
  for (const PostOp& op : post_ops_) num_operands_ += op.has_operand();
  scales_ = !std::all_of(post_ops_.begin(), post_ops_.end(), is_shift);
  scale_.resize(static_cast<size_t>(columns), 1.0f);
  shift_.resize(static_cast<size_t>(columns), 0.0f);
}

bool ColumnAffine::compute(std::span<const CallOperand> operands) {
  if (post_ops_.empty()) return true;
  if (scales_) std::fill(scale_.begin(), scale_.end(), 1.0f);
  std::fill(shift_.begin(), shift_.end(), 0.0f);
  size_t next = 0;
  for (const PostOp& op : post_ops_) {
    const float* y = &op.value;
    if (op.has_operand()) y = reinterpret_cast<const float*>(operands[next++].data) + op.offset;
    size_t step = op.with == PostOp::With::kColumn ? 1 : 0;
    for (size_t j = 0; j < scale_.size(); ++j, y += step) {
      switch (op.kind) {
        case PostOp::Kind::kAdd: shift_[j] += *y; break;
        case PostOp::Kind::kSubtract: shift_[j] -= *y; break;
        case PostOp::Kind::kMultiply: scale_[j] *= *y, shift_[j] *= *y; break;
        default: scale_[j] /= *y, shift_[j] /= *y; break;
      }
    }
  }
  return (!scales_ || all_are(scale_, is_safe_factor)) && all_are(shift_, is_finite);
}

}  // namespace tuff::cpu
