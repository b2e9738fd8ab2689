// Products of complex tensors, and equations with triangular and positive definite matrices.
//
// A matrix of complex numbers is a real one of twice the size: each number z stands as the square
//   re -im
//   im  re
// which adds and multiplies as z does. A triangular matrix with a real diagonal stays triangular,
// and a Cholesky factor is the Cholesky factor of what stands for the product.
#include <fmt/format.h>

#include "frontend/stablehlo/import/complex.h"

namespace tuff::stablehlo {

namespace {

using Ints = std::vector<int64_t>;

Result<Expr> add(const OpContext& context, Op op, Values operands, TensorType type,
                 Attrs attrs = {}) {
  Node node;
  node.op = op;
  node.operands = std::move(operands);
  node.types = {std::move(type)};
  node.attrs = std::move(attrs);
  TUFF_ASSIGN(Values made, context.add_checked(std::move(node)));
  return Expr(context, made[0]);
}

Expr reshape(const Expr& x, Shape shape) {
  return x.binary(Op::kReshape, {}, {x.type().dtype, std::move(shape)});
}

// Two tensors as one with a dimension more, of size 2, before dimension `at`.
Expr stack(const Expr& a, const Expr& b, int64_t at) {
  TensorType type = a.type();
  type.shape.insert(type.shape.begin() + at, 1);
  Values parts{reshape(a, type.shape).value(), reshape(b, type.shape).value()};
  type.shape[static_cast<size_t>(at)] = 2;
  const OpContext& context = a.context();
  return {context, context.add(Op::kConcatenate, std::move(parts), type, ConcatenateAttrs{at})};
}

// [..., m, n] as [..., 2 m, 2 n].
Expr as_real_matrix(const Complex& z) {
  Shape shape = z.re.type().shape;
  int64_t rank = z.re.type().rank();
  Expr left = stack(z.re, z.im, rank - 1);  // [..., m, 2, n]: columns of re and im
  Expr right = stack(-z.im, z.re, rank - 1);
  shape[static_cast<size_t>(rank - 2)] *= 2, shape[static_cast<size_t>(rank - 1)] *= 2;
  return reshape(stack(left, right, rank + 1), std::move(shape));
}

// [..., m, n] as [..., 2 m, n]: what the matrix of a left factor is multiplied with.
Expr as_real_columns(const Complex& z) {
  Shape shape = z.re.type().shape;
  int64_t rank = z.re.type().rank();
  shape[static_cast<size_t>(rank - 2)] *= 2;
  return reshape(stack(z.re, z.im, rank - 1), std::move(shape));
}

// Every second element from `first` on, along a dimension.
Expr every_second(const Expr& x, int64_t dimension, int64_t first) {
  TensorType type = x.type();
  auto d = static_cast<size_t>(dimension);
  Ints start(type.shape.size(), 0), limit = type.shape, strides(type.shape.size(), 1);
  start[d] = first, strides[d] = 2, type.shape[d] /= 2;
  const OpContext& context = x.context();
  SliceAttrs attrs{std::move(start), std::move(limit), std::move(strides)};
  return {context, context.add(Op::kSlice, {x.value()}, type, std::move(attrs))};
}

Complex parts_of_rows(const Expr& x) {
  int64_t rows = x.type().rank() - 2;
  return {every_second(x, rows, 0), every_second(x, rows, 1)};
}

Complex transposed(const Complex& z) {
  TensorType type = z.re.type();
  Ints order(type.shape.size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
  size_t last = order.size() - 1;
  std::swap(order[last], order[last - 1]), std::swap(type.shape[last], type.shape[last - 1]);
  const OpContext& context = z.re.context();
  auto turn = [&](const Expr& x) {
    return Expr(context, context.add(Op::kTranspose, {x.value()}, type, TransposeAttrs{order}));
  };
  return {turn(z.re), turn(z.im)};
}

// Of square matrices: 1 where row and column are equal.
Expr is_diagonal(const Expr& like) {
  TensorType type{DType::kI32, like.type().shape};
  const OpContext& context = like.context();
  auto number = [&](int64_t dimension) {
    return Expr(context, context.add(Op::kIota, {}, type, IotaAttrs{dimension}));
  };
  return equal(number(type.rank() - 2), number(type.rank() - 1));
}

// The diagonal of each matrix, as the only nonzero of its row summed up and spread over `like`.
Result<Expr> diagonal_of_rows(const Expr& matrix, const Expr& diagonal, const Expr& like) {
  const OpContext& context = matrix.context();
  TensorType type = matrix.type();
  DType dtype = type.dtype;
  auto body = std::make_shared<Graph>();
  Value a = body->add_parameter({dtype, {}}), b = body->add_parameter({dtype, {}});
  body->set_outputs({add_op(*body, Op::kAdd, {a, b}, {dtype, {}})});
  Node reduce;
  reduce.op = Op::kReduce;
  reduce.operands = {diagonal.select(matrix, matrix.like(0)).value(),
                     add_constant(context.graph(), Literal(TensorType{dtype, {}}), context.loc)};
  reduce.attrs = DimensionsAttrs{{type.rank() - 1}};
  type.shape.pop_back();
  reduce.types = {type};
  reduce.regions = {body};
  TUFF_ASSIGN(Values sums, context.add_checked(std::move(reduce)));
  Ints dims;
  for (int64_t d = 0; d < type.rank(); ++d) dims.push_back(d);
  return add(context, Op::kBroadcastInDim, {sums[0]}, like.type(), BroadcastInDimAttrs{dims});
}

// a x = b of a triangular a: rows divided by their diagonal have a real one.
Result<Complex> solve(const Complex& a, const Complex& b, bool lower, bool unit_diagonal) {
  const OpContext& context = a.re.context();
  Complex matrix = a, right = b;
  Expr diagonal = is_diagonal(a.re);
  if (!unit_diagonal) {
    auto rows_of = [&](const Expr& like) -> Result<Complex> {
      TUFF_ASSIGN(Expr re, diagonal_of_rows(a.re, diagonal, like));
      TUFF_ASSIGN(Expr im, diagonal_of_rows(a.im, diagonal, like));
      return Complex{re, im};
    };
    TUFF_ASSIGN(Complex of_matrix, rows_of(a.re));
    TUFF_ASSIGN(Complex of_right, rows_of(b.re));
    matrix = a / of_matrix, right = b / of_right;
  }
  matrix.im = diagonal.select(matrix.im.like(0), matrix.im);  // the diagonal is 1
  TriangularSolveAttrs attrs;
  attrs.left_side = true, attrs.lower = lower, attrs.unit_diagonal = true;
  Expr columns = as_real_columns(right);
  TUFF_ASSIGN(Expr x,
              add(context, Op::kTriangularSolve, {as_real_matrix(matrix).value(), columns.value()},
                  columns.type(), std::move(attrs)));
  return parts_of_rows(x);
}

// What the other triangle has does not count.
Complex triangle_of(const Complex& a, bool lower) {
  TensorType type{DType::kI32, a.re.type().shape};
  const OpContext& context = a.re.context();
  auto number = [&](int64_t dimension) {
    return Expr(context, context.add(Op::kIota, {}, type, IotaAttrs{dimension}));
  };
  Expr row = number(type.rank() - 2), column = number(type.rank() - 1);
  Expr counts = lower ? column <= row : row <= column;
  return {counts.select(a.re, a.re.like(0)), counts.select(a.im, a.im.like(0))};
}

}  // namespace

// Four real products.
OpResult complex_product(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_results(2));
  auto product = [&](size_t a, size_t b) -> Result<Expr> {
    TUFF_ASSIGN(Values values, on_parts(context, {a, b}));
    return Expr(context, values[0]);
  };
  TUFF_ASSIGN(Expr rr, product(0, 0));
  TUFF_ASSIGN(Expr ii, product(1, 1));
  TUFF_ASSIGN(Expr ri, product(0, 1));
  TUFF_ASSIGN(Expr ir, product(1, 0));
  return Complex{rr - ii, ri + ir}.values();
}

OpResult complex_triangular_solve(OpContext& context) {
  TUFF_ASSIGN(Complex a, complex_operand(context, 0));
  TUFF_ASSIGN(Complex b, complex_operand(context, 1));
  // The real operation's own check of shapes and attributes.
  TUFF_ASSIGN([[maybe_unused]] Values checked, on_parts(context, {0, 0}));
  TUFF_ASSIGN(Attrs read, import_attributes(context, Op::kTriangularSolve));
  const auto& attrs = read.as<TriangularSolveAttrs>();
  bool lower = attrs.lower;
  a = triangle_of(a, lower);
  // x a = b is a^T x^T = b^T.
  bool transpose = (attrs.transpose_a != Transpose::kNoTranspose) == attrs.left_side;
  if (attrs.transpose_a == Transpose::kAdjoint) a = conj(a);
  if (transpose) a = transposed(a), lower = !lower;
  if (!attrs.left_side) b = transposed(b);
  TUFF_ASSIGN(Complex x, solve(a, b, lower, attrs.unit_diagonal));
  return (attrs.left_side ? x : transposed(x)).values();
}

OpResult complex_cholesky(OpContext& context) {
  TUFF_ASSIGN(Complex a, complex_operand(context, 0));
  TUFF_ASSIGN([[maybe_unused]] Values checked, on_parts(context, {0}));
  TUFF_ASSIGN(Attrs read, import_attributes(context, Op::kCholesky));
  bool lower = read.as<CholeskyAttrs>().lower;
  if (!lower) a = conj(transposed(a));  // of which the lower triangle is what counts of a
  a.im = is_diagonal(a.re).select(a.im.like(0), a.im);  // as LAPACK takes it
  Expr matrix = as_real_matrix(a);
  TUFF_ASSIGN(Expr root,
              add(context, Op::kCholesky, {matrix.value()}, matrix.type(), CholeskyAttrs{true}));
  Complex factor = parts_of_rows(every_second(root, root.type().rank() - 1, 0));
  return (lower ? factor : conj(transposed(factor))).values();
}

}  // namespace tuff::stablehlo
