#include "shaders/families/contraction/contraction_kernel.h"

#include <algorithm>

namespace tuff {

namespace {

// A guarded load gives 0 already, and so does what only moves and converts loads.
bool is_zero_unguarded(const Graph& region, Value v) {
  const Node& node = region.node(v);
  if (node.op == Op::kParameter) return true;
  bool moves = node.op == Op::kConvert || is_free_view(region, node);
  if (node.op == Op::kPad || node.operands.empty() || !moves) return false;
  return std::all_of(node.operands.begin(), node.operands.end(),
                     [&](Value operand) { return is_zero_unguarded(region, operand); });
}

}  // namespace

Operand emit_or_zero(FamilyKernel& kernel, const Graph& region, Value v, const IndexVector& index,
                     const std::optional<Operand>& guard) {
  Operand value = kernel.emitter.emit(v, index, guard);
  if (!guard || is_zero_unguarded(region, v)) return value;
  Operand zero = Operand::immediate(value.dtype, 0);
  return kernel.builder.compute(Op::kSelect, value.dtype, {*guard, value, zero});
}

Operand add_product(KernelBuilder& builder, const Operand& a, const Operand& b,
                    const Operand& sum) {
  if (sum.dtype != DType::kBool) return builder.compute(Op::kFma, sum.dtype, {a, b, sum});
  return builder.compute(Op::kOr, sum.dtype, {sum, builder.compute(Op::kAnd, sum.dtype, {a, b})});
}

ContractionKernel::ContractionKernel(GroupContext& group, const Contraction& contraction,
                                     int64_t lanes, const std::optional<KSplit>& split)
    : family(group, lanes, !split),
      group_(group),
      c_(contraction),
      node_(group.region.node(group.space.anchors[0])),
      split_(split),
      k_(contraction.k) {
  if (k_.empty()) k_.push_back(1);
  if (!split_) return;
  k_[split_->dim] = split_->length;
  int64_t bytes = split_->parts * num_elements(group.space.dims) * dtype_size(sum_type());
  scratch_ = family.builder.add_buffer(sum_type(), Access::kWrite, bytes);
}

DType ContractionKernel::sum_type() const { return contraction_sum_type(node_.types[0].dtype); }

DType ContractionKernel::element_type() const {
  return group_.region.type(node_.operands[0]).dtype;
}

void ContractionKernel::open_outer() {
  KernelBuilder& b = family.builder;
  if (split_) part_ = b.grid("part", split_->parts);
  for (size_t i = 0; i < c_.batch.size(); ++i)
    batch_.push_back(b.grid("b" + std::to_string(i), c_.batch[i]));
  // A convolution's groups are part of its output feature dimension.
  for (size_t i = 0; i < c_.out_batch.size(); ++i)
    b.bind(group_.space.vars[c_.out_batch[i]], batch_[i]);
}

KStep ContractionKernel::step_at(IndexVector k) const {
  KStep step;
  auto require_below = [&](const IndexExpr& index, int64_t size) {
    IndexCondition last{IndexExpr(size - 1) - index, IndexCondition::Kind::kNonNegative};
    if (truth(group_.index, last) != Truth::kAlways) step.inside.push_back(last);
  };
  require_below(k.back(), k_.back());
  if (split_) {
    IndexExpr& index = k[split_->dim];
    index = part_ * split_->length + index;
    require_below(index, c_.k[split_->dim]);
  }
  k.resize(c_.k.size());
  step.k = std::move(k);
  return step;
}

Operand ContractionKernel::load_a(const IndexVector& m, const KStep& step) {
  return family.builder.convert(element_a(m, step), sum_type());
}

Operand ContractionKernel::load_b(const IndexVector& n, const KStep& step) {
  return family.builder.convert(element_b(n, step), sum_type());
}

Operand ContractionKernel::element_a(const IndexVector& m, const KStep& step) {
  std::vector<IndexCondition> conditions = step.inside;
  IndexVector index = c_.a_index(batch_, m, step.k, conditions);
  std::optional<Operand> guard = family.builder.all_of(conditions, std::nullopt);
  return emit_or_zero(family, group_.region, node_.operands[0], index, guard);
}

Operand ContractionKernel::element_b(const IndexVector& n, const KStep& step) {
  std::optional<Operand> guard = family.builder.all_of(step.inside, std::nullopt);
  return emit_or_zero(family, group_.region, node_.operands[1], c_.b_index(batch_, n, step.k),
                      guard);
}

void ContractionKernel::multiply_add(uint32_t sums, int64_t at, const Operand& a,
                                     const Operand& b) {
  KernelBuilder& builder = family.builder;
  builder.write(sums, at, add_product(builder, a, b, builder.read(sums, at)));
}

void ContractionKernel::store(const IndexVector& m, IndexVector n,
                              const std::vector<IndexCondition>& inside, const Operand& sum) {
  KernelBuilder& b = family.builder;
  bind_dims(c_.out_m, m);
  if (c_.out_batch.empty() && !c_.batch.empty()) n[0] = batch_[0] * c_.n[0] + n[0];
  bind_dims(c_.out_n, n);
  std::optional<Operand> guard = b.all_of(inside, std::nullopt);
  if (split_) {
    const GroupSpace& space = group_.space;
    IndexExpr point = linearize(space.vars, space.dims);
    return b.store(scratch_, part_ * num_elements(space.dims) + point, sum, guard);
  }
  Operand result = b.convert(sum, node_.types[0].dtype);
  family.emitter.anchor_value = [result](Value) { return result; };
  family.emitter.forget();
  for (size_t o = 0; o < group_.region.outputs().size(); ++o) family.store_output(o, guard);
}

void ContractionKernel::bind_dims(const std::vector<size_t>& dims, const IndexVector& index) {
  for (size_t i = 0; i < dims.size(); ++i)
    family.builder.bind(group_.space.vars[dims[i]], index[i]);
}

Result<LoweredStep> ContractionKernel::finish() {
  if (!split_) return family.finish();
  return family.finish_with({GroupBuffer::Kind::kScratch, 0});
}

}  // namespace tuff
