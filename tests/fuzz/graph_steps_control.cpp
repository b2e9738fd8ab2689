// Control flow, composites, linear algebra and random bits.
#include <algorithm>

#include "tests/fuzz/graph_builder.h"

namespace tuff::fuzz {

namespace {

// A branch or body: one operation on its only tensor.
GraphPtr unary_region(GraphBuilder& b, const TensorType& type) {
  auto body = std::make_shared<Graph>();
  Value x = body->add_parameter(type);
  constexpr Op kOps[] = {Op::kAdd, Op::kMaximum};
  body->set_outputs({b.chance(4) ? x : add_op(*body, kOps[b.pick(2)], {x, x}, type)});
  return body;
}

void add_branches(GraphBuilder& b, Op op, Value x) {
  size_t count = op == Op::kIf ? 2 : 1 + static_cast<size_t>(b.pick(3));
  std::vector<GraphPtr> regions;
  while (regions.size() < count) regions.push_back(unary_region(b, b.type(x)));
  Value index = b.scalar(DType::kI32);
  if (op == Op::kIf) {
    auto mask =
        b.add(Op::kCompare, {index, b.constant(Literal::scalar(DType::kI32, 3))},
              CompareAttrs{ComparisonDirection::kGt, CompareType::kSigned}, {DType::kBool, {}});
    if (!mask) return;
    index = *mask;
  }
  b.add(op, {index, x}, {}, b.type(x), regions);
}

// A matrix of -1, 0 and 1.
Literal signs(GraphBuilder& b, DType dtype, int64_t rows, int64_t columns) {
  Literal values({dtype, {rows, columns}});
  for (int64_t i = 0; i < values.num_elements(); ++i)
    values.set_double(i, static_cast<double>(b.pick(is_unsigned_int(dtype) ? 2 : 3)) -
                             (is_unsigned_int(dtype) ? 0 : 1));
  return values;
}

// while (i < n) { all[i] = x; x = clamp(x w + x); ++i }, all of them in one order or the other.
void add_recurrence(GraphBuilder& b, Value x) {
  const TensorType counter{DType::kI32, {}}, type = b.type(x), truth{DType::kBool, {}};
  const auto rank = static_cast<int64_t>(type.shape.size());
  const int64_t rounds = 1 + b.pick(5), length = type.shape.back();
  const bool backwards = b.chance(2), after = b.chance(2);
  TensorType stack = type, slice = type;
  stack.shape.insert(stack.shape.begin(), rounds);
  slice.shape.insert(slice.shape.begin(), 1);
  auto cond = std::make_shared<Graph>(), body = std::make_shared<Graph>();
  Value i = cond->add_parameter(counter);
  cond->add_parameter(type);
  cond->add_parameter(stack);
  Value limit = add_constant(*cond, Literal::scalar(DType::kI32, static_cast<double>(rounds)));
  cond->set_outputs({add_op(*cond, Op::kCompare, {i, limit}, truth,
                            CompareAttrs{ComparisonDirection::kLt, CompareType::kSigned})});
  i = body->add_parameter(counter);
  Value h = body->add_parameter(type), all = body->add_parameter(stack);
  auto number = [&](DType dtype, double value) {
    return add_constant(*body, Literal::scalar(dtype, value));
  };
  Value weights = add_constant(*body, signs(b, type.dtype, length, length));
  Value product = add_op(
      *body, Op::kDotGeneral, {h, weights}, type,
      DotGeneralAttrs{.lhs_contracting_dimensions = {rank - 1}, .rhs_contracting_dimensions = {0}});
  Value sum = add_op(*body, Op::kAdd, {product, h}, type);
  Value next = add_op(
      *body, Op::kClamp,
      {number(type.dtype, is_unsigned_int(type.dtype) ? 0 : -4), sum, number(type.dtype, 4)}, type);
  Value last = number(DType::kI32, static_cast<double>(rounds - 1));
  Value at = backwards ? add_op(*body, Op::kSubtract, {last, i}, counter) : i;
  std::vector<Value> update{all, add_op(*body, Op::kReshape, {after ? next : h}, slice), at};
  update.resize(3 + type.shape.size(), number(DType::kI32, 0));
  Value stored = add_op(*body, Op::kDynamicUpdateSlice, update, stack);
  body->set_outputs({add_op(*body, Op::kAdd, {i, number(DType::kI32, 1)}, counter), next, stored});
  auto empty = b.add(Op::kBroadcastInDim, {b.constant(Literal::scalar(type.dtype, 0))},
                     BroadcastInDimAttrs{}, stack);
  if (!empty) return;
  b.add(Op::kWhile, {b.constant(Literal::scalar(DType::kI32, 0)), x, *empty}, {}, type,
        {cond, body}, 3);
}

// while (i < n) { x = x + x or max; ++i }
void add_while(GraphBuilder& b, Value x) {
  const Shape& shape = b.shape(x);
  if (!shape.empty() && num_elements(shape) > 0 && shape.back() <= 64 && b.chance(2))
    return add_recurrence(b, x);
  TensorType counter{DType::kI32, {}};
  auto cond = std::make_shared<Graph>(), body = std::make_shared<Graph>();
  Value i = cond->add_parameter(counter);
  cond->add_parameter(b.type(x));
  Value limit = add_constant(*cond, Literal::scalar(DType::kI32, static_cast<double>(b.pick(5))));
  cond->set_outputs({add_op(*cond, Op::kCompare, {i, limit}, {DType::kBool, {}},
                            CompareAttrs{ComparisonDirection::kLt, CompareType::kSigned})});
  i = body->add_parameter(counter);
  Value carried = body->add_parameter(b.type(x));
  Value one = add_constant(*body, Literal::scalar(DType::kI32, 1));
  Value next = add_op(*body, Op::kAdd, {i, one}, counter);
  Op op = b.chance(2) ? Op::kAdd : Op::kMaximum;
  body->set_outputs({next, add_op(*body, op, {carried, carried}, b.type(x))});
  Value start = b.chance(2) ? b.scalar(DType::kI32) : b.constant(Literal::scalar(DType::kI32, 0));
  b.add(Op::kWhile, {start, x}, {}, b.type(x), {cond, body}, 2);
}

void add_map(GraphBuilder& b, Value x) {
  if (b.type(x).dtype == DType::kBool) return;
  auto y = b.find([&](Value v) { return b.type(v) == b.type(x); });
  Ints dims;
  for (size_t d = 0; d < b.shape(x).size(); ++d) dims.push_back(static_cast<int64_t>(d));
  b.add(Op::kMap, {x, *y}, DimensionsAttrs{dims}, b.type(x),
        {b.binary_region(Op::kMaximum, b.type(x).dtype)});
}

// Whole numbers in [-4, 4], so that what the maths amplifies stays small.
std::optional<Value> tame(GraphBuilder& b, Value x) {
  DType dtype = b.type(x).dtype;
  return b.add(Op::kClamp,
               {b.constant(Literal::scalar(dtype, -4)), x, b.constant(Literal::scalar(dtype, 4))},
               {}, b.type(x));
}

void add_batch_norm(GraphBuilder& b, Op op, Value x) {
  DType dtype = b.type(x).dtype;
  auto y = tame(b, x);
  if (!y || b.shape(x).size() < 2 || num_elements(b.shape(x)) == 0) return;
  int64_t feature = b.pick(static_cast<int64_t>(b.shape(x).size()));
  int64_t count = b.shape(x)[static_cast<size_t>(feature)];
  auto vector = [&](double least) {
    Literal values({dtype, {count}});
    for (int64_t i = 0; i < count; ++i)
      values.set_double(i, least + static_cast<double>(b.pick(3)));
    return b.constant(std::move(values));
  };
  BatchNormAttrs attrs{0.5, feature};
  std::vector<Value> operands = {*y, vector(1)};  // scale
  if (op != Op::kBatchNormGrad) operands.push_back(vector(-1));
  if (op != Op::kBatchNormTraining) operands.insert(operands.end(), {vector(-1), vector(1)});
  if (op == Op::kBatchNormGrad) operands.push_back(*y);
  b.add(op, operands, attrs, b.type(x), {}, op == Op::kBatchNormInference ? 1 : 3);
}

// A square matrix with a dominant diagonal, symmetric: constants, since few are.
Value matrix(GraphBuilder& b, DType dtype, int64_t n) {
  Literal values({dtype, {n, n}});
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      double value = i == j ? 4.0 * static_cast<double>(n) : static_cast<double>(b.pick(5)) - 2;
      values.set_double(i * n + j, value);
      values.set_double(j * n + i, value);
    }
  return b.constant(std::move(values));
}

void add_solve(GraphBuilder& b, Op op, Value x) {
  DType dtype = b.type(x).dtype;
  int64_t n = 1 + b.pick(6);
  if (op == Op::kTriangularSolve && (b.shape(x).size() != 2 || b.shape(x)[0] == 0)) return;
  if (op == Op::kTriangularSolve) n = b.shape(x)[0];
  if (n > 40) return;
  auto y = tame(b, x);
  auto scaled = b.add(Op::kBroadcastInDim, {b.constant(Literal::scalar(dtype, 1))},
                      BroadcastInDimAttrs{}, {dtype, {n, n}});
  if (!y || !scaled) return;
  auto a = b.add(Op::kAdd, {matrix(b, dtype, n), *scaled}, {}, {dtype, {n, n}});
  if (!a) return;
  bool lower = b.pick(2) == 1;
  if (op == Op::kCholesky) {
    b.add(op, {*a}, CholeskyAttrs{lower}, {dtype, {n, n}});
    return;
  }
  TriangularSolveAttrs attrs{.left_side = true, .lower = lower};
  if (b.chance(2)) attrs.transpose_a = Transpose::kTranspose;
  b.add(op, {*a, *y}, attrs, b.type(x));
}

void add_random(GraphBuilder& b, Value x) {
  Literal state({DType::kU64, {2}});
  state.set_int(0, b.pick(1000));
  Value start = b.constant(std::move(state));
  b.add(Op::kRngBitGenerator, {start}, RngBitGeneratorAttrs{RngAlgorithm::kThreeFry},
        {DType::kU32, b.shape(x)}, {}, 2);
}

}  // namespace

void step_library(GraphBuilder& b, Op op) {
  Value x = b.any();
  if (op == Op::kRngBitGenerator) return add_random(b, x);
  auto matrix_of_whole = [&](Value v) { return b.integral(v) && b.type(v).rank() >= 2; };
  auto y = b.find(matrix_of_whole);
  if (y && b.type(*y).dtype != DType::kF64)
    y = b.add(Op::kConvert, {*y}, {}, {DType::kF32, b.shape(*y)});
  if (!y) return;
  if (op_category(op) == OpCategory::kComposite) return add_batch_norm(b, op, *y);
  add_solve(b, op, *y);
}

void step_control(GraphBuilder& b, Op op) {
  Value x = b.any();
  // Sums double each round: whole numbers stay exact.
  if (op != Op::kOptimizationBarrier && op != Op::kMap &&
      (b.type(x).dtype == DType::kBool || !b.summable(x)))
    return;
  switch (op) {
    case Op::kWhile: return add_while(b, x);
    case Op::kIf:
    case Op::kCase: return add_branches(b, op, x);
    case Op::kMap: return add_map(b, x);
    default: b.add(op, {x}, {}, b.type(x));
  }
}

}  // namespace tuff::fuzz
