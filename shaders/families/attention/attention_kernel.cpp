#include "shaders/families/attention/attention_kernel.h"

#include <cmath>

#include "shaders/families/contraction/contraction_kernel.h"

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

Operand attention_base(KernelBuilder& b, const Operand& largest) {
  Operand none = b.compute(Op::kEq, DType::kBool, {largest, f32_immediate(-INFINITY)});
  return b.compute(Op::kSelect, DType::kF32, {none, f32_immediate(0), largest});
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

// As the prelude's exponential: e^x = 2^n e^r, with n in [-127, 0]. The sum that rounds x / ln 2
// has n in its low bits, where one shift makes 2^n of it, and 0 of the least n. The test for what
// is below it is one of bits, which a NaN does not meet.
Operand AttentionKernel::weight(const Operand& x) {
  KernelBuilder& b = family.builder;
  auto bits = [](uint64_t value) { return Operand::immediate(DType::kU32, value); };
  constexpr uint64_t kLeast = 0xc2b03333, kInfinity = 0xff800000;  // -88.1, -inf
  Operand beyond =
      b.compute(Op::kSubtract, DType::kU32, {b.bitcast(x, DType::kU32), bits(kLeast + 1)});
  Operand is_beyond = b.compute(Op::kLt, DType::kBool, {beyond, bits(kInfinity - kLeast)});
  Operand least = Operand::immediate(DType::kF32, kLeast);
  Operand c = b.compute(Op::kSelect, DType::kF32, {is_beyond, least, x});

  Operand rounder = f32_immediate(12582912);  // 1.5 * 2^23
  Operand rounded = multiply_add(c, f32_immediate(1.44269504), rounder);
  Operand n = op(Op::kSubtract, rounded, rounder);
  Operand r = multiply_add(n, f32_immediate(-0.693359375), c);
  r = multiply_add(n, f32_immediate(2.12194440e-4), r);
  Operand q = multiply_add(r, f32_immediate(1.3870696e-3), f32_immediate(8.366272e-3));
  for (double next : {4.1667435e-2, 0.16666546, 0.49999997})
    q = multiply_add(r, q, f32_immediate(next));
  Operand p = multiply_add(op(Op::kMultiply, r, r), q, r);
  p = op(Op::kAdd, p, f32_immediate(1));
  Operand exponent =
      b.compute(Op::kShiftLeft, DType::kU32, {b.bitcast(rounded, DType::kU32), bits(23)});
  exponent = b.compute(Op::kAdd, DType::kU32, {exponent, bits(0x3f800000)});
  return op(Op::kMultiply, p, b.bitcast(exponent, DType::kF32));
}

Operand AttentionKernel::multiply_add(const Operand& x, const Operand& y, const Operand& sum) {
  return family.builder.compute(Op::kFma, DType::kF32, {x, y, sum});
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
