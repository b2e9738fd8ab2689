#include "shaders/families/attention_kernel.h"

#include <cmath>

#include "shaders/families/contraction_kernel.h"

namespace tuff {

namespace {

DotDims dims_of(const Graph& region, const Node& dot) {
  return dot_dims(dot, region.type(dot.operands[0]).rank(), region.type(dot.operands[1]).rank());
}

Shape sizes_at(const Shape& dims, const std::vector<size_t>& at) {
  Shape sizes;
  for (size_t d : at) sizes.push_back(dims[d]);
  return sizes;
}

IndexVector vars_at(const IndexVector& vars, const std::vector<size_t>& at) {
  IndexVector some;
  for (size_t d : at) some.push_back(vars[d]);
  return some;
}

}  // namespace

Operand f32_immediate(double value) {
  Literal literal = Literal::scalar(DType::kF32, 0);
  literal.set_double(0, value);
  return immediate_of(literal);
}

AttentionShape::AttentionShape(const GroupContext& group) {
  const AttentionSpace& a = *group.space.attention;
  batch = num_elements(sizes_at(group.space.dims, a.batch));
  rows = sizes_at(group.space.dims, a.rows);
  columns = a.column_sizes;
  outs = sizes_at(group.space.dims, a.out);
  const Node& scores = group.region.node(a.nodes.scores);
  const Shape& queries = group.region.type(scores.operands[0]).shape;
  for (int64_t d : dims_of(group.region, scores).lhs_contract)
    depth.push_back(queries[static_cast<size_t>(d)]);
}

AttentionSizes AttentionShape::sizes() const {
  return {batch, num_elements(rows), num_elements(columns), num_elements(depth),
          num_elements(outs)};
}

AttentionKernel::AttentionKernel(GroupContext& group, const AttentionShape& shape, int64_t lanes,
                                 bool with_outputs)
    : family(group, lanes, with_outputs),
      group_(group),
      a_(*group.space.attention),
      shape_(shape),
      scores_(group.region.node(a_.nodes.scores)),
      values_(group.region.node(a_.nodes.values)),
      scores_dims_(dims_of(group.region, scores_)),
      values_dims_(dims_of(group.region, values_)),
      row_vars_(vars_at(group.space.vars, a_.rows)),
      out_vars_(vars_at(group.space.vars, a_.out)) {}

void AttentionKernel::open_batch() {
  const GroupSpace& space = group_.space;
  for (size_t d : a_.batch) {
    int64_t range = d == 0 && space.open ? 2 : space.dims[d];
    family.builder.bind(space.vars[d],
                        family.builder.open_grid("b" + std::to_string(d), space.dims[d], range));
  }
}

void AttentionKernel::bind(const IndexVector& vars, const IndexExpr& linear, const Shape& sizes) {
  bind_parts(vars, delinearize(group_.index, linear, sizes));
}

void AttentionKernel::bind_parts(const IndexVector& vars, const IndexVector& parts) {
  for (size_t i = 0; i < vars.size(); ++i) family.builder.bind(vars[i], parts[i]);
  family.emitter.forget();
}

IndexVector AttentionKernel::scores_index(size_t operand, const IndexExpr& k) const {
  return dot_operand_index(scores_dims_, operand, a_.scores,
                           delinearize(group_.index, k, shape_.depth));
}

IndexVector AttentionKernel::values_index() const {
  return dot_operand_index(values_dims_, values_operand(), group_.space.vars, a_.columns);
}

Operand AttentionKernel::load(Value v, const IndexVector& index, const Guard& guard) {
  return family.builder.convert(emit_or_zero(family, group_.region, v, index, guard), DType::kF32);
}

Operand AttentionKernel::query(const IndexExpr& k, const Guard& guard) {
  return load(scores_.operands[a_.rows_operand], scores_index(a_.rows_operand, k), guard);
}

Operand AttentionKernel::key(const IndexExpr& k, const Guard& guard) {
  return load(scores_.operands[keys_operand()], scores_index(keys_operand(), k), guard);
}

Operand AttentionKernel::value(const Guard& guard) {
  return load(values_.operands[values_operand()], values_index(), guard);
}

Operand AttentionKernel::logit(const Operand& product, const Guard& there) {
  Operand score = family.builder.convert(product, scores_.types[0].dtype);
  family.emitter.anchor_value = [score](Value) { return score; };
  Operand x = family.builder.convert(family.emitter.emit(a_.nodes.logits, a_.scores), DType::kF32);
  if (!there) return x;
  return family.builder.compute(Op::kSelect, DType::kF32, {*there, x, f32_immediate(-INFINITY)});
}

void AttentionKernel::store(const Operand& result, const Guard& guard) {
  Operand value = family.builder.convert(result, values_.types[0].dtype);
  family.emitter.anchor_value = [value](Value) { return value; };
  for (size_t o = 0; o < group_.region.outputs().size(); ++o) family.store_output(o, guard);
}

Operand AttentionKernel::op(Op op, const Operand& x, const Operand& y) {
  return family.builder.compute(op, DType::kF32, {x, y});
}

Operand AttentionKernel::exp(const Operand& x) {
  return family.builder.compute(Op::kExponential, DType::kF32, {x});
}

Operand AttentionKernel::multiply_add(const Operand& x, const Operand& y, const Operand& sum) {
  return family.builder.compute(Op::kFma, DType::kF32, {x, y, sum});
}

Operand AttentionKernel::base_of(const Operand& largest) {
  Operand none = family.builder.compute(Op::kEq, DType::kBool, {largest, f32_immediate(-INFINITY)});
  return family.builder.compute(Op::kSelect, DType::kF32, {none, f32_immediate(0), largest});
}

AttentionKernel::Guard AttentionKernel::has(const IndexExpr& rest) {
  return family.builder.all_of({{rest, IndexCondition::Kind::kNonNegative}}, std::nullopt);
}

bool AttentionKernel::depth_is_near(size_t operand) {
  if (shape_.depth.empty() || shape_.depth.back() == 1) return false;
  IndexExpr k = group_.index.symbol("k", 0, shape_.depth.back() - 1);
  IndexVector steps(shape_.depth.size(), 0);
  steps.back() = k;
  IndexVector index = dot_operand_index(scores_dims_, operand, a_.scores, steps);
  return lies_along(group_, scores_.operands[operand], index, k.terms[0].first);
}

bool AttentionKernel::queries_along_depth() { return depth_is_near(a_.rows_operand); }
bool AttentionKernel::keys_along_depth() { return depth_is_near(keys_operand()); }

bool AttentionKernel::values_along_columns() {
  if (a_.columns.empty() || a_.columns.back().is_constant()) return false;
  return lies_along(group_, values_.operands[values_operand()], values_index(),
                    a_.columns.back().terms[0].first);
}

}  // namespace tuff
