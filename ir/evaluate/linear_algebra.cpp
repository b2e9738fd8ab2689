// cholesky and triangular_solve on real matrices, in double, rounded once.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/evaluate/ops.h"
#include "ir/ops/triangular.h"

namespace tuff::eval {

namespace {

// a = l * transpose(l), row by row, in the lower triangle; zeros above it. All of l is NaN
// where a pivot is not positive: there is none.
void cholesky_lower(int64_t n, double* l) {
  bool positive = true;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      double sum = l[i * n + j];
      for (int64_t k = 0; k < j; ++k) sum -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i == j ? std::sqrt(sum) : sum / l[j * n + j];
      positive &= i != j || sum > 0;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    if (!positive) std::fill_n(l + i * n, i + 1, std::numeric_limits<double>::quiet_NaN());
    std::fill_n(l + i * n + i + 1, n - i - 1, 0.0);
  }
}

void transpose_square(int64_t n, double* a) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) std::swap(a[i * n + j], a[j * n + i]);
}

// A writable double copy.
Literal doubles(const Literal& literal) {
  Literal wide = convert_literal(literal, DType::kF64);
  return Literal(wide.type(),
                 std::vector<std::byte>(wide.bytes(), wide.bytes() + wide.size_bytes()));
}

// Solves t * x = b in place, t triangular: element (i, j) of t is
// a[i * row + j * column], element i of x is x[i * step].
struct Triangle {
  const double* a;
  int64_t n, row, column;
  bool lower, unit;

  void solve(double* x, int64_t step) const {
    for (int64_t done = 0; done < n; ++done) {
      int64_t i = lower ? done : n - 1 - done;
      double sum = x[i * step];
      for (int64_t k = 0; k < done; ++k) {
        int64_t j = lower ? k : n - 1 - k;
        sum -= a[i * row + j * column] * x[j * step];
      }
      x[i * step] = unit ? sum : sum / a[i * row + i * column];
    }
  }
};

}  // namespace

Result<Literals> evaluate_cholesky(const Node& node, const Literals& operands) {
  const TensorType& type = node.types[0];
  int64_t n = type.shape.back(), matrices = n == 0 ? 0 : type.num_elements() / (n * n);
  bool lower = is_lower(node);
  Literal wide = doubles(operands[0]);
  for (int64_t m = 0; m < matrices; ++m) {
    double* a = wide.mutable_data<double>() + m * n * n;
    // An upper factor is the transpose of the lower factor of the transpose.
    if (!lower) transpose_square(n, a);
    cholesky_lower(n, a);
    if (!lower) transpose_square(n, a);
  }
  return Literals{convert_literal(wide, type.dtype)};
}

// op(a) * x = b, or x * op(a) = b, which is transpose(op(a)) * transpose(x) =
// transpose(b): rows of b take the place of columns.
Result<Literals> evaluate_triangular_solve(const Node& node, const Literals& operands) {
  const TensorType& type = node.types[0];
  size_t rank = type.shape.size();
  int64_t rows = type.shape[rank - 2], columns = type.shape[rank - 1];
  int64_t n = operands[0].type().shape.back();
  TriangularForm form = triangular_form(node);
  bool left = form.left, flipped = form.flipped();
  Literal a = convert_literal(operands[0], DType::kF64), x = doubles(operands[1]);
  Triangle triangle{nullptr,           n, flipped ? 1 : n, flipped ? n : 1, form.solves_downwards(),
                    form.unit_diagonal};
  int64_t matrices = type.num_elements() == 0 ? 0 : type.num_elements() / (rows * columns);
  for (int64_t m = 0; m < matrices; ++m) {
    triangle.a = a.data<double>() + m * n * n;
    double* b = x.mutable_data<double>() + m * rows * columns;
    for (int64_t i = 0; i < (left ? columns : rows); ++i)
      triangle.solve(left ? b + i : b + i * columns, left ? columns : 1);
  }
  return Literals{convert_literal(x, type.dtype)};
}

}  // namespace tuff::eval
