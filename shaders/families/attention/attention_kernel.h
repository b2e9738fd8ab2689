// An attention's kernel under construction: what all ways to lay it on lanes share.
#pragma once

#include <optional>
#include <vector>

#include "ir/ops/contraction.h"
#include "shaders/families/family.h"
#include "shaders/schedule/schedule.h"

namespace tuff {

// Dimension sizes by role: rows and columns of the softmax, what the scores' dot contracts, and
// a row of results.
struct AttentionShape {
  explicit AttentionShape(const GroupContext& group);
  AttentionSizes sizes() const;

  int64_t batch = 1;
  Shape rows, columns, depth, outs;
};

class AttentionKernel {
 public:
  // with_outputs: false if it stores none of them.
  AttentionKernel(GroupContext& group, const AttentionShape& shape, int64_t lanes,
                  bool with_outputs = true);

  FamilyKernel family;

  void open_batch();
  // Places by role: as linear positions, or in parts.
  void bind_row(const IndexExpr& row) { bind(row_vars_, row, shape_.rows); }
  void bind_column(const IndexExpr& column) { bind(a_.columns, column, shape_.columns); }
  void bind_out(const IndexExpr& out) { bind(out_vars_, out, shape_.outs); }
  void bind_row_parts(const IndexVector& row) { bind_parts(row_vars_, row); }
  void bind_column_parts(const IndexVector& column) { bind_parts(a_.columns, column); }
  void bind_out_parts(const IndexVector& out) { bind_parts(out_vars_, out); }

  // Elements of the operands at the bound places, and step k of the depth, as f32; 0 where the
  // guard fails.
  using Guard = std::optional<Operand>;
  Operand query(const IndexExpr& k, const Guard& guard = {});
  Operand key(const IndexExpr& k, const Guard& guard = {});
  Operand value(const Guard& guard = {});

  // What the softmax sees of a product of the bound row and column; -inf unless `there`.
  Operand logit(const Operand& product, const Guard& there);
  // Stores the outputs at the bound row and place.
  void store(const Operand& result, const Guard& guard);

  Operand op(Op op, const Operand& x, const Operand& y);
  Operand exp(const Operand& x);
  // The same of what is not above 0, in half the instructions: below 2^-126 it is 0.
  Operand weight(const Operand& x);
  Operand multiply_add(const Operand& x, const Operand& y, const Operand& sum);
  // That there are so many more; nothing where there always are.
  Guard has(const IndexExpr& rest);

  // Where the operands lie in memory: neighbours are steps of the depth, or columns.
  bool queries_along_depth();
  bool keys_along_depth();
  bool values_along_columns();

 private:
  void bind(const IndexVector& vars, const IndexExpr& linear, const Shape& sizes);
  void bind_parts(const IndexVector& vars, const IndexVector& parts);
  size_t keys_operand() const { return 1 - a_.rows_operand; }
  size_t values_operand() const { return 1 - a_.nodes.weights_operand; }
  IndexVector scores_index(size_t operand, const IndexExpr& k) const;
  IndexVector values_index() const;
  Operand load(Value v, const IndexVector& index, const Guard& guard);
  bool depth_is_near(size_t operand);

  GroupContext& group_;
  const AttentionSpace& a_;
  const AttentionShape& shape_;
  const Node &scores_, &values_;
  DotDims scores_dims_, values_dims_;
  IndexVector row_vars_, out_vars_;
};

Operand f32_immediate(double value);
// What logits are taken relative to. While every one is -inf, 0 stands for the largest: all weights
// stay 0, and the row ends as 0 / 0, as softmax has it.
Operand attention_base(KernelBuilder& b, const Operand& largest);

// Ways to compute it: lanes that own a row each; tiles in shared memory, for GPUs.
Result<LoweredGroup> lower_attention_rows(GroupContext& group, const AttentionShape& shape);
Result<LoweredGroup> lower_attention_tiles(GroupContext& group, const AttentionShape& shape,
                                           const AttentionTiles& tiles);

}  // namespace tuff
