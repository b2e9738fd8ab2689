#include "backend/cpu/linear_algebra/triangular_solve.h"

#include <vector>

#include "backend/cpu/linear_algebra/doubles.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// t * x = b in place: element (i, j) of t is a[i * row + j * column].
struct Triangle {
  const double* a;
  int64_t n, row, column;
  bool lower, unit;

  double at(int64_t i, int64_t j) const { return a[i * row + j * column]; }
  int64_t step(int64_t done) const { return lower ? done : n - 1 - done; }

  // Columns [first, last) of x, whose rows have `width` elements.
  void solve_columns(double* x, int64_t width, int64_t first, int64_t last) const {
    for (int64_t done = 0; done < n; ++done) {
      int64_t i = step(done);
      double* own = x + i * width;
      for (int64_t k = 0; k < done; ++k) {
        double factor = at(i, step(k));
        const double* known = x + step(k) * width;
        for (int64_t c = first; c < last; ++c) own[c] -= factor * known[c];
      }
      if (unit) continue;
      double diagonal = at(i, i);
      for (int64_t c = first; c < last; ++c) own[c] /= diagonal;
    }
  }

  // One x: what is known is taken off all that follows.
  void solve_vector(double* x) const {
    for (int64_t done = 0; done < n; ++done) {
      int64_t j = step(done);
      double known = unit ? x[j] : x[j] /= at(j, j);
      int64_t first = lower ? j + 1 : 0, last = lower ? n : j;
      for (int64_t i = first; i < last; ++i) x[i] -= at(i, j) * known;
    }
  }
};

class TriangularSolve : public LibraryCall {
 public:
  explicit TriangularSolve(const TriangularSolveCall& call) : call_(call) {}

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
    Triangle triangle{a,
                      call_.n,
                      flipped ? 1 : call_.n,
                      flipped ? call_.n : 1,
                      call_.lower != flipped,
                      call_.unit_diagonal};
    constexpr int64_t kColumns = 64;
    SharedRange vectors(call_.left ? call_.columns : call_.rows, call_.left ? kColumns : 1);
    bool shared = call_.n * call_.rows * call_.columns > kParallelWork;
    in_parallel(shared ? max_threads() : 1, [&](int) {
      for (int64_t first, last; vectors.take(first, last);) {
        if (call_.left)
          triangle.solve_columns(x, call_.columns, first, last);
        else
          triangle.solve_vector(x + first * call_.columns);
      }
    });
  }

  TriangularSolveCall call_;
};

}  // namespace

LibraryCallPtr create_triangular_solve(const TriangularSolveCall& call) {
  return std::make_unique<TriangularSolve>(call);
}

}  // namespace tuff::cpu
