// cholesky and triangular_solve of matrices that are too large for one kernel, block by block:
// the kernels do the blocks of the diagonal, products do all the rest.
#include <algorithm>
#include <limits>

#include "ir/ops/triangular.h"
#include "ir/passes/decompose/decompose_rules.h"

namespace tuff::decomposition {

namespace {

using Ints = std::vector<int64_t>;

// Operations on the last two dimensions, for all matrices of a batch.
class Blocks {
 public:
  explicit Blocks(const RewriteSite& site)
      : site_(site),
        dtype_(triangular_dtype(site.node.types[0].dtype)),
        rank_(site.node.types[0].shape.size()) {}

  Value operand(size_t i) const { return convert(site_, site_.node.operands[i], dtype_); }
  Value result(Value v) const { return convert(site_, v, site_.node.types[0].dtype); }

  // Elements [from, to) of dimension `d` of the two.
  Value part(Value v, size_t d, int64_t from, int64_t to) const {
    return slice(site_, v, rank_ - 2 + d, from, to);
  }
  Value block(Value v, int64_t row, int64_t row_end, int64_t column, int64_t column_end) const {
    return part(part(v, 0, row, row_end), 1, column, column_end);
  }

  // The product over dimension a_over of a and b_over of b, of the two.
  Value product(Value a, size_t a_over, Value b, size_t b_over) const {
    Ints batch;
    for (size_t d = 0; d + 2 < rank_; ++d) batch.push_back(static_cast<int64_t>(d));
    auto dimension = [&](size_t d) { return static_cast<int64_t>(rank_ - 2 + d); };
    Shape shape = shape_of(a);
    shape[rank_ - 2] = shape_of(a)[rank_ - 1 - a_over];
    shape[rank_ - 1] = shape_of(b)[rank_ - 1 - b_over];
    DotGeneralAttrs attrs;
    attrs.lhs_batching_dimensions = attrs.rhs_batching_dimensions = std::move(batch);
    attrs.lhs_contracting_dimensions = {dimension(a_over)};
    attrs.rhs_contracting_dimensions = {dimension(b_over)};
    return dot_general(site_, a, b, of(std::move(shape)), attrs);
  }
  Value minus(Value a, Value b) const { return site_.add(Op::kSubtract, {a, b}, of(shape_of(a))); }

  Value transpose(Value v) const {
    Ints permutation(rank_);
    for (size_t d = 0; d < rank_; ++d) permutation[d] = static_cast<int64_t>(d);
    std::swap(permutation[rank_ - 2], permutation[rank_ - 1]);
    Shape shape = shape_of(v);
    std::swap(shape[rank_ - 2], shape[rank_ - 1]);
    return site_.add(Op::kTranspose, {v}, of(std::move(shape)),
                     TransposeAttrs{std::move(permutation)});
  }

  // The parts one after another along dimension d of the two.
  Value join(const std::vector<Value>& parts, size_t d) const {
    if (parts.size() == 1) return parts[0];
    size_t dimension = rank_ - 2 + d;
    Shape shape = shape_of(parts[0]);
    shape[dimension] = 0;
    for (Value v : parts) shape[dimension] += shape_of(v)[dimension];
    return site_.add(Op::kConcatenate, parts, of(std::move(shape)),
                     ConcatenateAttrs{static_cast<int64_t>(dimension)});
  }

  Value zeros_above(Value v, int64_t rows) const {
    if (rows == 0) return v;
    Shape shape = shape_of(v);
    shape[rank_ - 2] = rows;
    return join({site_.splat(of(std::move(shape)), 0), v}, 0);
  }

  Value cholesky(Value a) const {
    return site_.add(Op::kCholesky, {a}, of(shape_of(a)), CholeskyAttrs{true});
  }

  Value solve(Value a, Value b, const TriangularForm& form) const {
    Transpose transpose = form.transposed ? Transpose::kTranspose : Transpose::kNoTranspose;
    return site_.add(Op::kTriangularSolve, {a, b}, of(shape_of(b)),
                     TriangularSolveAttrs{form.left, form.lower, form.unit_diagonal, transpose});
  }

  // A factor is NaN where its last element is: so are all blocks after one that failed.
  Value failed_as_a_whole(Value l) const {
    const Shape& shape = shape_of(l);
    int64_t n = shape.back();
    Shape batch(shape.begin(), shape.end() - 2);
    Value last = reshape(site_, block(l, n - 1, n, n - 1, n), batch);
    Value failed = compare(last, last, ComparisonDirection::kNe);
    Ints dims;
    for (size_t d = 0; d < batch.size(); ++d) dims.push_back(static_cast<int64_t>(d));
    failed = broadcast(site_, failed, shape, std::move(dims));
    Value row = iota(shape, rank_ - 2), column = iota(shape, rank_ - 1);
    Value within = compare(row, column, ComparisonDirection::kGe);
    failed = site_.add(Op::kAnd, {failed, within}, {DType::kBool, shape});
    Value nan = site_.splat(of(shape), std::numeric_limits<double>::quiet_NaN());
    return site_.add(Op::kSelect, {failed, nan, l}, of(shape));
  }

 private:
  TensorType of(Shape shape) const { return {dtype_, std::move(shape)}; }
  // A copy: nodes that are added may move the types.
  Shape shape_of(Value v) const { return site_.out.type(v).shape; }

  Value compare(Value a, Value b, ComparisonDirection direction) const {
    return site_.add(Op::kCompare, {a, b}, {DType::kBool, shape_of(a)}, CompareAttrs{direction});
  }
  Value iota(const Shape& shape, size_t dimension) const {
    return site_.add(Op::kIota, {}, {DType::kI32, shape},
                     IotaAttrs{static_cast<int64_t>(dimension)});
  }

  const RewriteSite& site_;
  DType dtype_;
  size_t rank_;
};

// Rows of a block, if the matrices are larger. Calls take them whole.
std::optional<int64_t> block_rows(const RewriteSite& site, const Caps& caps) {
  int64_t rows = triangular_block(site.node.types[0].dtype, caps);
  bool large = site.operand_type(0).shape.back() > rows && site.node.types[0].num_elements() > 0;
  return large && !caps.library_calls ? std::optional(rows) : std::nullopt;
}

}  // namespace

// The factor's columns of blocks, from the left: each is taken off what remains of the matrix.
Values blocked_cholesky(const RewriteSite& site, const Caps& caps) {
  auto rows = block_rows(site, caps);
  if (!rows) return std::nullopt;
  Blocks b(site);
  bool lower = is_lower(site.node);
  Value rest = lower ? b.operand(0) : b.transpose(b.operand(0));
  int64_t n = site.operand_type(0).shape.back();
  std::vector<Value> columns;
  for (int64_t done = 0; done < n; done += *rows) {
    int64_t size = std::min(*rows, n - done), left = n - done;
    std::vector<Value> column = {b.cholesky(b.block(rest, 0, size, 0, size))};
    if (size < left) {
      column.push_back(b.solve(column[0], b.block(rest, size, left, 0, size),
                               {.left = false, .lower = true, .transposed = true}));
      Value below = b.block(rest, size, left, size, left);
      rest = b.minus(below, b.product(column[1], 1, column[1], 1));
    }
    columns.push_back(b.zeros_above(b.join(column, 0), done));
  }
  Value l = b.failed_as_a_whole(b.join(columns, 1));
  return std::vector<Value>{b.result(lower ? l : b.transpose(l))};
}

// The solution's blocks in the order in which they are known: each is taken off the right-hand
// sides of the others.
Values blocked_triangular_solve(const RewriteSite& site, const Caps& caps) {
  auto rows = block_rows(site, caps);
  if (!rows) return std::nullopt;
  Blocks b(site);
  TriangularForm form = triangular_form(site.node);
  size_t along = form.left ? 0 : 1;  // the dimension of x that is solved along
  Value a = b.operand(0), rest = b.operand(1);
  int64_t n = site.operand_type(0).shape.back();
  std::vector<Value> parts;
  for (int64_t done = 0; done < n; done += *rows) {
    int64_t size = std::min(*rows, n - done), left = n - done;
    bool down = form.solves_downwards();
    int64_t first = down ? done : left - size;                        // in the matrix
    int64_t other = down ? first + size : 0, end = down ? n : first;  // what remains of it
    int64_t begin = down ? 0 : left - size;                           // in `rest`
    Value block = b.block(a, first, first + size, first, first + size);
    Value x = b.solve(block, b.part(rest, along, begin, begin + size), form);
    parts.insert(down ? parts.end() : parts.begin(), x);
    if (size == left) break;
    // In memory a's block stands in the rows of its triangle: (other, first) below the diagonal.
    bool below = form.lower == down;
    Value between = below ? b.block(a, other, end, first, first + size)
                          : b.block(a, first, first + size, other, end);
    size_t over = below ? 1 : 0;  // the dimension of it that x's block goes with
    Value taken = form.left ? b.product(between, over, x, 0) : b.product(x, 1, between, over);
    rest = b.minus(b.part(rest, along, down ? size : 0, down ? left : left - size), taken);
  }
  return std::vector<Value>{b.result(b.join(parts, along))};
}

}  // namespace tuff::decomposition
