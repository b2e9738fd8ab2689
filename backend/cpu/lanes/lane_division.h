// Integer division over lanes. Processors have no vectors of it, but those of floats give the same
// quotients: a / b is at least 1 / b away from every integer that it is not, which is more than
// rounding moves it as long as a float has more bits than a. Results as t_div's and t_rem's.
// After level.h.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cpu/lanes/level.h"

namespace tuff::cpu {
namespace {

// By lane; `a` and `b` are functions of the lane's number.
template <bool quotient, typename T, typename F, typename A, typename B, typename Put>
TUFF_INLINE void divide_by_lanes(int64_t n, const A& a, const B& b, const Put& put) {
  using U = std::make_unsigned_t<T>;
  using S = std::make_signed_t<T>;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const T x = a(i), y = b(i);
    // 0 and the divisors whose quotients are beyond S are put right below.
    const bool one = y == (std::is_signed_v<T> ? static_cast<T>(-1) : T{1}), none = y == T{0};
    const T safe = one || none ? T{2} : y;
    T q = static_cast<T>(static_cast<S>(static_cast<F>(x) / static_cast<F>(safe)));
    q = one ? static_cast<T>(std::is_signed_v<T> ? U{0} - static_cast<U>(x) : static_cast<U>(x))
            : q;
    const T r = static_cast<T>(static_cast<U>(x) - static_cast<U>(q) * static_cast<U>(y));
    put(i, quotient ? (none ? static_cast<T>(-1) : q) : (none ? x : r));
  }
}

// By one divisor: (|a| + 1/2) / |b| is at least 1 / (2 |b|) away from every integer, so that a
// product with the reciprocal does as well.
template <bool quotient, typename T, typename F, typename A, typename Put>
TUFF_INLINE void divide_by_one(int64_t n, const A& a, T y, const Put& put) {
  using U = std::make_unsigned_t<T>;
  using S = std::make_signed_t<T>;
  const auto magnitude = [](T v) {
    return v < T{0} ? U{0} - static_cast<U>(v) : static_cast<U>(v);
  };
  const U divisor = magnitude(y);
  if (divisor <= 1)
    return divide_by_lanes<quotient, T, F>(
        n, a, [y](int64_t) { return y; }, put);
  const F reciprocal = F{1} / static_cast<F>(divisor);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const T x = a(i);
    const U m = magnitude(x);
    const U q =
        static_cast<U>(static_cast<S>((static_cast<F>(m) + static_cast<F>(0.5)) * reciprocal));
    const bool negative = std::is_signed_v<T> && (quotient ? (x ^ y) < T{0} : x < T{0});
    const U result = quotient ? q : m - q * divisor;
    put(i, static_cast<T>(negative ? U{0} - result : result));
  }
}

// Whether 64-bit numbers have few enough bits for a double.
template <typename T, typename A>
TUFF_INLINE bool fits_double(int64_t n, const A& a) {
  using U = std::make_unsigned_t<T>;
  U bits = 0;
#pragma omp simd reduction(| : bits)
  for (int64_t i = 0; i < n; ++i) {
    const T x = a(i);
    bits |= static_cast<U>(x < T{0} ? ~x : x);
  }
  return bits < U{1} << 50;
}

// E: the element's type, see element.h.
template <bool quotient, bool single, typename E, typename A, typename B>
TUFF_INLINE void divide_lanes(int64_t n, typename E::Storage* to, const A& a, const B& b) {
  using T = typename E::T;
  const auto put = [to](int64_t i, T value) { to[i] = E::narrow(value); };
  // Narrow elements compute in 32 bits, but a float holds them.
  using F = std::conditional_t<sizeof(typename E::Storage) <= 2, float, double>;
  if constexpr (sizeof(T) == 8) {
    if (!fits_double<T>(n, a) || !fits_double<T>(single ? 1 : n, b)) {
      for (int64_t i = 0; i < n; ++i) {
        const T x = a(i), y = b(i);
        const bool plain = y != T{0} && !(std::is_signed_v<T> && y == static_cast<T>(-1));
        if (!plain)
          divide_by_lanes<quotient, T, F>(
              1, [x](int64_t) { return x; }, [y](int64_t) { return y; },
              [&](int64_t, T value) { put(i, value); });
        else
          put(i, quotient ? x / y : x % y);
      }
      return;
    }
  }
  if constexpr (single)
    divide_by_one<quotient, T, F>(n, a, b(0), put);
  else
    divide_by_lanes<quotient, T, F>(n, a, b, put);
}

}  // namespace
}  // namespace tuff::cpu
