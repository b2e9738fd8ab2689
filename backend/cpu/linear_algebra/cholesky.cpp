#include "backend/cpu/linear_algebra/cholesky.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/linear_algebra/doubles.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

constexpr int64_t kRows = 16;  // a thread's share at a time

// a = l * transpose(l) in place, from the lower triangle, column by column: once a
// column is final it is taken off every row below, along the row. False where a pivot is
// not positive, and so there is no l.
bool factor_lower(int64_t n, double* a) {
  std::vector<double> column(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) {
    if (!(a[k * n + k] > 0)) return false;
    double pivot = a[k * n + k] = std::sqrt(a[k * n + k]);
    for (int64_t i = k + 1; i < n; ++i) column[i] = a[i * n + k] /= pivot;
    int64_t left = n - k - 1;
    SharedRange rows(left, kRows);
    in_parallel(left * left > kParallelWork ? max_threads() : 1, [&](int) {
      for (int64_t first, last; rows.take(first, last);)
        for (int64_t i = k + 1 + first; i < k + 1 + last; ++i) {
          double factor = column[i], *row = a + i * n;
          for (int64_t j = k + 1; j <= i; ++j) row[j] -= factor * column[j];
        }
    });
  }
  return true;
}

// The factor's lower triangle, NaN where there is none; zeros above.
void lower_factor(int64_t n, double* a) {
  bool factored = factor_lower(n, a);
  for (int64_t i = 0; i < n; ++i) {
    if (!factored) std::fill_n(a + i * n, i + 1, std::numeric_limits<double>::quiet_NaN());
    std::fill_n(a + i * n + i + 1, n - i - 1, 0.0);
  }
}

void transpose(int64_t n, double* a) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) std::swap(a[i * n + j], a[j * n + i]);
}

class Cholesky : public LibraryCall {
 public:
  explicit Cholesky(const CholeskyCall& call) : call_(call) {}

  Status run(std::span<const CallOperand> operands) override {
    int64_t count = call_.n * call_.n, bytes = count * dtype_size(call_.dtype);
    SharedRange matrices(call_.matrices, 1);
    bool shared = call_.matrices > 1 && call_.matrices * count * call_.n > kParallelWork;
    in_parallel(shared ? max_threads() : 1, [&](int) {
      std::vector<double> a(static_cast<size_t>(count));
      for (int64_t m, end; matrices.take(m, end);) {
        load_doubles(call_.dtype, operands[0].data + m * bytes, count, a.data());
        // An upper factor is the transpose of the lower factor of the transpose.
        if (!call_.lower) transpose(call_.n, a.data());
        lower_factor(call_.n, a.data());
        if (!call_.lower) transpose(call_.n, a.data());
        store_doubles(call_.dtype, a.data(), count, operands[1].data + m * bytes);
      }
    });
    return {};
  }

 private:
  CholeskyCall call_;
};

}  // namespace

LibraryCallPtr create_cholesky(const CholeskyCall& call) {
  return std::make_unique<Cholesky>(call);
}

}  // namespace tuff::cpu
