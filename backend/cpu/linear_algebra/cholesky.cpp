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

// Columns that are taken off the rest together.
constexpr int64_t kColumns = 4;

// The first kColumns columns, or what there is of them, of the lower triangle behind (k, k) as
// columns of the factor, which `columns` gets, too: of n elements each, by row of the matrix.
// Returns false where a pivot is not positive.
bool factor_columns(int64_t n, int64_t k, int64_t count, double* a, double* columns) {
  for (int64_t p = 0; p < count; ++p) {
    double* column = columns + p * n;
    const int64_t j = k + p;
    if (!(a[j * n + j] > 0)) return false;
    const double pivot = a[j * n + j] = std::sqrt(a[j * n + j]);
    for (int64_t i = j + 1; i < n; ++i) {
      column[i] = a[i * n + j] /= pivot;
      for (int64_t q = j + 1; q < std::min(k + count, i + 1); ++q)
        a[i * n + q] -= column[i] * column[q];
    }
  }
  return true;
}

// a = l * transpose(l) in place, from the lower triangle, some columns after others: once they
// are final they are taken off every row below, along the row. False where a pivot is not
// positive, and so there is no l.
bool factor_lower(int64_t n, double* a, const LaneTable& table) {
  std::vector<double> columns(static_cast<size_t>(kColumns * n));
  for (int64_t k = 0; k < n; k += kColumns) {
    const int64_t count = std::min(kColumns, n - k), next = k + count, left = n - next;
    if (!factor_columns(n, k, count, a, columns.data())) return false;
    SharedRange rows(left, kRows);
    in_parallel(left * left * count > kParallelWork ? max_threads() : 1, [&](int) {
      for (int64_t first, last; rows.take(first, last);)
        for (int64_t i = next + first; i < next + last; ++i)
          table.take_off(i + 1 - next, a + i * n + next, count, a + i * n + k,
                         columns.data() + next, n);
    });
  }
  return true;
}

// The factor's lower triangle, NaN where there is none; zeros above.
void lower_factor(int64_t n, double* a, const LaneTable& table) {
  bool factored = factor_lower(n, a, table);
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
  Cholesky(const CholeskyCall& call, const LaneTable& table) : call_(call), table_(table) {}

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
        lower_factor(call_.n, a.data(), table_);
        if (!call_.lower) transpose(call_.n, a.data());
        store_doubles(call_.dtype, a.data(), count, operands[1].data + m * bytes);
      }
    });
    return {};
  }

 private:
  CholeskyCall call_;
  const LaneTable& table_;
};

}  // namespace

LibraryCallPtr create_cholesky(const CholeskyCall& call, const LaneTable& table) {
  return std::make_unique<Cholesky>(call, table);
}

}  // namespace tuff::cpu
