// One matrix, and what belongs to it, of a call of LAPACK. Ours are row-major, its are
// column-major.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "backend/cpu/host/lapack_functions.h"
#include "backend/program.h"

namespace tuff::cpu {

// A matrix, vector or number; `sizes` are those behind the batch, of complex numbers with their two
// parts.
struct LapackOperand {
  std::byte* data = nullptr;
  std::span<const int64_t> sizes;

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  LapackInt size(size_t d) const { return static_cast<LapackInt>(sizes[d]); }
  // Of real numbers.
  int64_t count() const {
    int64_t count = 1;
    for (int64_t size : sizes) count *= size;
    return count;
  }
};

struct LapackProblem {
  const HostCallAttrs& function;
  std::span<const LapackOperand> arguments, results;

  // The result that says how it went.
  void set_info(LapackInt info) const { *results.back().as<LapackInt>() = info; }
};

// A matrix for LAPACK.
template <typename T>
class ColumnMajor {
 public:
  explicit ColumnMajor(const LapackOperand& shape)
      : m(shape.size(0)), n(shape.size(1)), ld(std::max(m, 1)) {
    values_.resize(static_cast<size_t>(ld) * static_cast<size_t>(std::max(n, 1)));
  }
  static ColumnMajor of(const LapackOperand& matrix) {
    ColumnMajor columns(matrix);
    columns.copy(matrix.as<const T>(), columns.values_.data(), columns.n, columns.m);
    return columns;
  }
  void store(const LapackOperand& matrix) const { copy(values_.data(), matrix.as<T>(), m, n); }

  T* data() { return values_.data(); }
  T at(LapackInt i, LapackInt j) const { return values_[static_cast<size_t>(int64_t{j} * ld + i)]; }
  const LapackInt m, n, ld;

 private:
  // to[i, j] = from[j, i]; by tiles, which stay in the cache.
  static void copy(const T* from, T* to, int64_t rows, int64_t columns) {
    constexpr int64_t kTile = 32;
    for (int64_t i0 = 0; i0 < rows; i0 += kTile)
      for (int64_t j0 = 0; j0 < columns; j0 += kTile)
        for (int64_t i = i0; i < std::min(i0 + kTile, rows); ++i)
          for (int64_t j = j0; j < std::min(j0 + kTile, columns); ++j)
            to[i * columns + j] = from[j * rows + i];
  }

  std::vector<T> values_;
};

template <typename T>
bool is_finite(const LapackOperand& operand) {
  using Real = RealOf<T>;
  const Real* values = operand.as<const Real>();
  return std::all_of(values, values + operand.count(), [](Real x) { return std::isfinite(x); });
}

// LAPACK may never end on what is not finite. The result is then NaN, and info tells.
template <typename T>
bool refuse_not_finite(const LapackProblem& problem) {
  if (is_finite<T>(problem.arguments[0])) return false;
  for (const LapackOperand& result : problem.results)
    if (result.data != nullptr && !result.sizes.empty())
      std::fill_n(result.as<RealOf<T>>(), result.count(),
                  std::numeric_limits<RealOf<T>>::quiet_NaN());
  constexpr LapackInt kNotFinite = -4;
  problem.set_info(kNotFinite);
  return true;
}

// Memory as LAPACK asks for it: call(work, size) is first asked with the size -1 and leaves the
// size there, in T, which may have rounded it.
template <typename T, typename Call>
void with_work(const Call& call) {
  T answer = 0;
  call(&answer, LapackInt{-1});
  RealOf<T> asked = std::real(answer);
  auto size = static_cast<LapackInt>(asked + asked / (1 << 20)) + 8;
  std::vector<T> work(static_cast<size_t>(size));
  call(work.data(), size);
}

// The functions; null where it is another one.
using LapackFunction = void (*)(const LapackProblem&);
template <typename T>
LapackFunction find_factorization(HostFunction function);  // lapack_factorizations.cpp
template <typename T>
LapackFunction find_spectral(HostFunction function);  // lapack_spectral.cpp

}  // namespace tuff::cpu
