#include "backend/cpu/linear_algebra/triangular_solve.h"

#include <algorithm>
#include <vector>

#include "backend/cpu/linear_algebra/doubles.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// t * x = b in place: element (i, j) of t is a[i * row + j * column].
struct Triangle {
  const LaneTable& table;
  const double* a;
  int64_t n, row, column;
  bool lower, unit;

  double at(int64_t i, int64_t j) const { return a[i * row + j * column]; }
  int64_t step(int64_t done) const { return lower ? done : n - 1 - done; }

  // Columns [first, last) of x, whose rows have `width` elements. Off a few rows at once all that
  // is known before them is taken, then each other.
  void solve_columns(double* x, int64_t width, int64_t first, int64_t last) const {
    constexpr int64_t kRows = LaneTable::kTakenOffRows;
    const int64_t sign = lower ? 1 : -1, start = step(0);
    const double* known = x + start * width + first;
    for (int64_t done = 0; done < n; done += kRows) {
      const int64_t i = step(done), count = std::min(kRows, n - done);
      if (count == kRows)
        table.take_off_rows(last - first, x + i * width + first, sign * width, done,
                            a + i * row + start * column, sign * row, sign * column, known,
                            sign * width);
      for (int64_t r = 0; r < count; ++r)
        finish_row(x, width, first, last, done + r, count == kRows ? done : 0);
    }
  }

  // Row step(done) once the rows before `known` are taken off it.
  void finish_row(double* x, int64_t width, int64_t first, int64_t last, int64_t done,
                  int64_t known) const {
    const int64_t i = step(done);
    double* own = x + i * width;
    for (int64_t k = known; k < done; ++k) {
      const double factor = at(i, step(k));
      table.take_off(last - first, own + first, 1, &factor, x + step(k) * width + first, 0);
    }
    if (unit) return;
    const double diagonal = at(i, i);
    for (int64_t c = first; c < last; ++c) own[c] /= diagonal;
  }

  // One x, whose elements lie beside each other: along the matrix' rows what is known is taken off
  // the next element, along its columns off all that follow.
  void solve_vector(double* x) const {
    for (int64_t done = 0; done < n; ++done) {
      const int64_t i = step(done), first = lower ? 0 : i + 1, rest = lower ? i + 1 : 0;
      if (column == 1) x[i] -= table.dot(done, a + i * row + first, x + first);
      if (!unit) x[i] /= at(i, i);
      if (column != 1) table.take_off(n - 1 - done, x + rest, 1, x + i, a + rest + i * column, 0);
    }
  }
};

class TriangularSolve : public LibraryCall {
 public:
  TriangularSolve(const TriangularSolveCall& call, const LaneTable& table)
      : call_(call), table_(table) {}

  Status run(std::span<const CallOperand> operands) override {
    int64_t a_count = call_.n * call_.n, b_count = call_.rows * call_.columns;
    int64_t size = dtype_size(call_.dtype);
    std::vector<double> a(static_cast<size_t>(a_count)), x(static_cast<size_t>(b_count));
    for (int64_t m = 0; m < call_.matrices; ++m) {
      load_doubles(call_.dtype, operands[0].data + m * a_count * size, a_count, a.data());
      load_doubles(call_.dtype, operands[1].data + m * b_count * size, b_count, x.data());
      solve(a.data(), x.data());
      store_doubles(call_.dtype, x.data(), b_count, operands[2].data + m * b_count * size);
    }
    return {};
  }

 private:
  // x * op(a) = b is transpose(op(a)) * transpose(x) = transpose(b): rows of b take the
  // place of columns.
  void solve(const double* a, double* x) const {
    bool flipped = call_.transposed == call_.left;
    Triangle triangle{table_,
                      a,
                      call_.n,
                      flipped ? 1 : call_.n,
                      flipped ? call_.n : 1,
                      call_.lower != flipped,
                      call_.unit_diagonal};
    constexpr int64_t kColumns = 64;
    const bool by_columns = call_.left && call_.columns != 1;
    SharedRange vectors(call_.left ? call_.columns : call_.rows, by_columns ? kColumns : 1);
    bool shared = call_.n * call_.rows * call_.columns > kParallelWork;
    in_parallel(shared ? max_threads() : 1, [&](int) {
      for (int64_t first, last; vectors.take(first, last);) {
        if (by_columns)
          triangle.solve_columns(x, call_.columns, first, last);
        else
          triangle.solve_vector(x + first * call_.columns);
      }
    });
  }

  TriangularSolveCall call_;
  const LaneTable& table_;
};

}  // namespace

LibraryCallPtr create_triangular_solve(const TriangularSolveCall& call, const LaneTable& table) {
  return std::make_unique<TriangularSolve>(call, table);
}

}  // namespace tuff::cpu
