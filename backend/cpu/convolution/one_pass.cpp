#include "backend/cpu/convolution/one_pass.h"

namespace tuff::cpu {

RowsFn rows_function(PostOp::Kind kind, const LaneTable& table) {
  switch (kind) {
    case PostOp::Kind::kGeluErf: return table.gelu_erf;
    case PostOp::Kind::kGeluTanh: return table.gelu_tanh;
    case PostOp::Kind::kSilu: return table.silu;
    case PostOp::Kind::kHardSwish: return table.hard_swish;
    default: return nullptr;
  }
}

OnePass::OnePass(const PostOpList& post_ops, int64_t rows, int64_t columns, const LaneTable& table)
    : table_(table),
      post_ops_(post_ops),
      affine_(post_ops, columns),
      ones_(static_cast<size_t>(columns), 1.0f),
      rows_(rows),
      columns_(columns) {
  for (size_t i = affine_.size(); i < post_ops.size(); ++i) {
    if (post_ops[i].kind == PostOp::Kind::kMaximum) least_ = post_ops[i].value;
    if (post_ops[i].kind == PostOp::Kind::kMinimum) most_ = post_ops[i].value;
    if (post_ops[i].with == PostOp::With::kElement) adds_ = true;
    if (RowsFn function = rows_function(post_ops[i].kind, table)) function_ = function;
  }
}

void OnePass::begin(std::span<const CallOperand> operands, float* result) {
  operands_ = operands;
  result_ = result;
  folds_ = affine_.compute(operands);
  bool in_result = adds_ && operands[operands.size() - 2].data == operands.back().data;
  if (in_result && !folds_) addend_.assign(result, result + rows_ * columns_);
}

const float* OnePass::addend() const {
  if (!adds_ || !folds_) return nullptr;
  return reinterpret_cast<const float*>(operands_[operands_.size() - 2].data);
}

void OnePass::finish() {
  if (folds_) return;
  for (int64_t r = 0; r < rows_; ++r) {
    float* row = result_ + r * columns_;
    size_t next = 0;
    for (const PostOp& op : post_ops_) {
      if (RowsFn function = rows_function(op.kind, table_)) {
        function(1, columns_, row, columns_);
        continue;
      }
      const float* y = &op.value;
      if (op.has_operand()) y = reinterpret_cast<const float*>(operands_[next++].data) + op.offset;
      if (op.with == PostOp::With::kElement) {
        if (!addend_.empty()) y = addend_.data();
        y += r * columns_;
      }
      bool one = op.with == PostOp::With::kValue || op.with == PostOp::With::kScalar;
      lanes_of(op.kind)[one ? 0b10 : 0](columns_, row, row, y, nullptr);
    }
  }
  addend_.clear();
}

const LaneFn* OnePass::lanes_of(PostOp::Kind kind) const {
  return table_.compute[static_cast<size_t>(op_of(kind))][static_cast<size_t>(DType::kF32)];
}

}  // namespace tuff::cpu
