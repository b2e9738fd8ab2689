// cholesky and triangular_solve of matrices that fit into shared memory (`decompose` makes
// blocks of larger ones). Narrow floats are computed in f32.
//
// Sums run over whole rows: what is not known yet is 0 in them, so no lane waits for another
// one or needs a loop of its own length.
#include "ir/ops/triangular.h"

#include <algorithm>
#include <limits>

#include "shaders/families/family.h"

namespace tuff {

namespace {

constexpr int64_t kVectors = 64;  // right-hand sides of a workgroup

class Triangular {
 public:
  Triangular(GroupContext& group, int64_t lanes)
      : group_(group),
        kernel_(group, lanes),
        b_(kernel_.builder),
        node_(group.region.node(group.space.anchors[0])),
        result_(node_.types[0]),
        dtype_(triangular_dtype(result_.dtype)),
        n_(group.region.type(node_.operands[0]).shape.back()),
        matrices_(Shape(result_.shape.begin(), result_.shape.end() - 2)),
        triangle_(b_.add_array(Scope::kShared, dtype_, n_ * triangular_pitch(n_))) {
    matrix_ = b_.grid("matrix", num_elements(matrices_));
  }

  // A lane has a row. Column j is a row of the matrix less what the columns before it make of
  // it, by the root of what then stands on the diagonal.
  Result<LoweredStep> cholesky() {
    bool lower = is_lower(node_);
    uint32_t column = b_.add_array(Scope::kShared, dtype_, n_);
    uint32_t positive = b_.add_array(Scope::kRegister, DType::kBool, 1);
    IndexExpr row = b_.begin_lanes(b_.size(n_));
    clear(triangle_, row * triangular_pitch(n_));
    b_.write(positive, 0, Operand::boolean(true));
    b_.end();
    IndexExpr j = b_.begin_serial("j", n_);
    row = b_.begin_lanes(b_.size(n_));
    b_.write(column, row,
             rest(read_operand(0, lower ? row : j, lower ? j : row), row, triangle_,
                  j * triangular_pitch(n_)));
    b_.end();
    row = b_.begin_lanes(b_.size(n_));
    Operand pivot = b_.read(column, j), root = number(Op::kSqrt, {pivot});
    Operand element = number(Op::kSelect, {compare(Op::kEq, row, j), root,
                                           number(Op::kDivide, {b_.read(column, row), root})});
    element = number(Op::kSelect, {compare(Op::kGe, row, j), element, zero()});
    b_.write(triangle_, row * triangular_pitch(n_) + j, element);
    Operand is_positive = b_.compute(Op::kGt, DType::kBool, {pivot, zero()});
    b_.write(positive, 0, b_.compute(Op::kAnd, DType::kBool, {b_.read(positive, 0), is_positive}));
    b_.end();
    b_.end();
    // A lane has a column now, since neighbours in memory are of one row.
    IndexExpr lane = b_.begin_lanes(b_.size(n_));
    IndexExpr i = b_.begin_serial("i", n_);
    IndexExpr at = (lower ? i : lane) * triangular_pitch(n_) + (lower ? lane : i);
    Operand factor =
        number(Op::kSelect,
               {b_.read(positive, 0), b_.read(triangle_, at),
                immediate_of(Literal::scalar(dtype_, std::numeric_limits<double>::quiet_NaN()))});
    store(i, lane,
          number(Op::kSelect, {compare(lower ? Op::kGe : Op::kLe, i, lane), factor, zero()}));
    b_.end();
    b_.end();
    return kernel_.finish();
  }

  // A lane has a right-hand side.
  Result<LoweredStep> solve() {
    TriangularForm form = triangular_form(node_);
    uint32_t diagonal = b_.add_array(Scope::kShared, dtype_, n_);
    uint32_t known = b_.add_array(Scope::kRegister, dtype_, n_);
    int64_t vectors = result_.shape[result_.shape.size() - (form.left ? 1 : 2)];
    IndexExpr base = b_.grid("block", (vectors + kVectors - 1) / kVectors) * kVectors;
    read_triangle(form, diagonal);
    IndexExpr vector = base + b_.begin_lanes(b_.lane_extent(base, vectors));
    clear(known, 0);
    IndexExpr step = b_.begin_serial("i", n_);
    IndexExpr i = form.solves_downwards() ? step : IndexExpr(n_ - 1) - step;
    IndexExpr row = form.left ? i : vector, column = form.left ? vector : i;
    Operand x = rest(read_operand(1, row, column), i, known, 0);
    if (!form.unit_diagonal) x = number(Op::kDivide, {x, b_.read(diagonal, i)});
    b_.write(known, i, x);
    store(row, column, x);
    b_.end();
    b_.end();
    return kernel_.finish();
  }

 private:
  Operand zero() const { return immediate_of(Literal::scalar(dtype_, 0)); }
  Operand number(Op op, std::vector<Operand> operands) {
    return b_.compute(op, dtype_, std::move(operands));
  }
  Operand compare(Op op, const IndexExpr& x, const IndexExpr& y) {
    return b_.compute(op, DType::kBool, {b_.index(x), b_.index(y)});
  }
  IndexVector place(const IndexExpr& row, const IndexExpr& column) {
    IndexVector at = delinearize(group_.index, matrix_, matrices_);
    at.push_back(row);
    at.push_back(column);
    return at;
  }
  Operand read_operand(size_t i, const IndexExpr& row, const IndexExpr& column) {
    return b_.convert(kernel_.emitter.emit(node_.operands[i], place(row, column)), dtype_);
  }
  void store(const IndexExpr& row, const IndexExpr& column, const Operand& value) {
    b_.store(0, linearize(place(row, column), result_.shape), b_.convert(value, result_.dtype),
             std::nullopt);
  }
  // n zeros.
  void clear(uint32_t array, const IndexExpr& first) {
    IndexExpr k = b_.begin_serial("k", n_);
    b_.write(array, first + k, zero());
    b_.end();
  }

  // value - the sum of row `row` of the triangle by n numbers of an array.
  Operand rest(const Operand& value, const IndexExpr& row, uint32_t array, const IndexExpr& first) {
    uint32_t sum = b_.add_array(Scope::kRegister, dtype_, 1);
    b_.write(sum, 0, value);
    IndexExpr k = b_.begin_serial("k", n_);
    Operand product = number(Op::kMultiply, {b_.read(triangle_, row * triangular_pitch(n_) + k),
                                             b_.read(array, first + k)});
    b_.write(sum, 0, number(Op::kSubtract, {b_.read(sum, 0), product}));
    b_.end();
    return b_.read(sum, 0);
  }

  // t of t * x = b without its diagonal, which stands apart. A lane reads a column of a.
  void read_triangle(const TriangularForm& form, uint32_t diagonal) {
    IndexExpr lane = b_.begin_lanes(b_.size(n_));
    if (!form.unit_diagonal) b_.write(diagonal, lane, read_operand(0, lane, lane));
    IndexExpr row = b_.begin_serial("i", n_);
    Operand inside = compare(form.lower ? Op::kLt : Op::kGt, lane, row);
    Operand element = number(Op::kSelect, {inside, read_operand(0, row, lane), zero()});
    IndexExpr i = form.flipped() ? lane : row, j = form.flipped() ? row : lane;
    b_.write(triangle_, i * triangular_pitch(n_) + j, element);
    b_.end();
    b_.end();
  }

  GroupContext& group_;
  FamilyKernel kernel_;
  KernelBuilder& b_;
  const Node& node_;
  const TensorType& result_;
  DType dtype_;
  int64_t n_;
  Shape matrices_;
  uint32_t triangle_;
  IndexExpr matrix_;
};

}  // namespace

Result<LoweredGroup> lower_triangular(GroupContext& group) {
  const Node& node = group.region.node(group.space.anchors[0]);
  int64_t rows = triangular_block(node.types[0].dtype, group.caps);
  if (node.op == Op::kCholesky) return one_step(Triangular(group, rows).cholesky());
  return one_step(Triangular(group, std::max(rows, kVectors)).solve());
}

}  // namespace tuff
