#include "shaders/families/attention/attention_parts.h"

#include <cmath>

#include "shaders/families/attention/attention_kernel.h"

namespace tuff {

AttentionScratch::AttentionScratch(const GroupContext& group, int64_t parts) : parts_(parts) {
  const AttentionSpace& a = *group.space.attention;
  row_dims_ = a.batch;
  row_dims_.insert(row_dims_.end(), a.rows.begin(), a.rows.end());
  points_ = num_elements(group.space.dims);
  rows_ = 1;
  for (size_t d : row_dims_) rows_ *= group.space.dims[d];
}

IndexExpr AttentionScratch::row(const GroupSpace& space) const {
  IndexVector at;
  Shape sizes;
  for (size_t d : row_dims_) {
    at.push_back(space.vars[d]);
    sizes.push_back(space.dims[d]);
  }
  return linearize(at, sizes);
}

IndexExpr AttentionScratch::result(const GroupSpace& space, const IndexExpr& part) const {
  return part * points_ + linearize(space.vars, space.dims);
}

IndexExpr AttentionScratch::largest(const GroupSpace& space, const IndexExpr& part) const {
  return part * rows_ + row(space) + parts_ * points_;
}

IndexExpr AttentionScratch::sum(const GroupSpace& space, const IndexExpr& part) const {
  return part * rows_ + row(space) + parts_ * (points_ + rows_);
}

namespace {

// A lane has one result. Parts are scaled to the largest logit of all, and added up in order.
class Fold {
 public:
  Fold(GroupContext& at, KernelBuilder& b, const AttentionScratch& scratch, uint32_t buffer,
       int64_t parts)
      : space_(at.space), b_(b), scratch_(scratch), buffer_(buffer), parts_(parts) {}

  Operand quotient() {
    uint32_t largest = begin_sum(-INFINITY);
    IndexExpr part = b_.begin_serial("part", parts_);
    b_.write(largest, 0,
             op(Op::kMaximum, b_.read(largest, 0), load(scratch_.largest(space_, part))));
    b_.end();
    Operand base = attention_base(b_, b_.read(largest, 0));
    uint32_t sum = begin_sum(0), result = begin_sum(0);
    part = b_.begin_serial("part", parts_);
    Operand below = op(Op::kSubtract, load(scratch_.largest(space_, part)), base);
    Operand scale = b_.compute(Op::kExponential, DType::kF32, {below});
    add(sum, scale, load(scratch_.sum(space_, part)));
    add(result, scale, load(scratch_.result(space_, part)));
    b_.end();
    return op(Op::kDivide, b_.read(result, 0), b_.read(sum, 0));
  }

 private:
  uint32_t begin_sum(double value) {
    uint32_t array = b_.add_array(Scope::kRegister, DType::kF32, 1);
    b_.write(array, 0, f32_immediate(value));
    return array;
  }
  Operand load(const IndexExpr& at) { return b_.load_now(buffer_, at, std::nullopt); }
  Operand op(Op op, const Operand& x, const Operand& y) {
    return b_.compute(op, DType::kF32, {x, y});
  }
  void add(uint32_t sum, const Operand& scale, const Operand& term) {
    b_.write(sum, 0, b_.compute(Op::kFma, DType::kF32, {scale, term, b_.read(sum, 0)}));
  }

  const GroupSpace& space_;
  KernelBuilder& b_;
  const AttentionScratch& scratch_;
  uint32_t buffer_;
  int64_t parts_;
};

}  // namespace

Result<LoweredStep> lower_attention_fold(GroupContext& group, int64_t parts) {
  AttentionScratch scratch(group, parts);
  DType dtype = group.region.node(group.space.attention->nodes.values).types[0].dtype;
  PointAnchor anchor{GroupBuffer{GroupBuffer::Kind::kScratch, 0}, scratch.type(), {}};
  anchor.results = [&](GroupContext& at, FamilyKernel& kernel, uint32_t buffer) {
    KernelBuilder& b = kernel.builder;
    return std::vector<Operand>{b.convert(Fold(at, b, scratch, buffer, parts).quotient(), dtype)};
  };
  TUFF_ASSIGN(LoweredStep fold, lower_map(group, &anchor));
  fold.kernel->family = word_of(GroupKind::kMap);  // the products are the other's work
  return fold;
}

}  // namespace tuff
