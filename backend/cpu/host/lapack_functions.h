// The functions of LAPACK that are called, by element type: Lapack<float>::getrf is sgetrf. Those
// of complex numbers have the names of real ones: Lapack<std::complex<double>>::orgqr is zungqr.
// Fortran takes everything by address, and the lengths of texts after all else.
#pragma once

#include <complex>
#include <cstddef>
#include <tuple>
#include <type_traits>

namespace tuff::cpu {

using LapackInt = int;  // of LAPACKs that Debian has, unless they say "64"

template <typename T>
struct Lapack;

// What a real number of T is: its parts, singular values, norms.
template <typename T>
struct LapackReal {
  using Type = T;
  static constexpr bool kComplex = false;
};
template <typename T>
struct LapackReal<std::complex<T>> {
  using Type = T;
  static constexpr bool kComplex = true;
};
template <typename T>
using RealOf = typename LapackReal<T>::Type;
template <typename T>
inline constexpr bool kIsComplex = LapackReal<T>::kComplex;

// What LAPACK is asked which eigenvalues come first; we never ask for an order.
using LapackSelect = void*;

#define TUFF_LAPACK_CHAR const char*
#define TUFF_LAPACK_IN const LapackInt*
#define TUFF_LAPACK_OUT LapackInt*

// FUNCTION(name, its own name, parameters) for every function. T is the element and R the real
// type; OR and SY are the names' parts that are "un" and "he" of complex numbers. REAL and COMPLEX
// keep a parameter that only those functions have.
#define TUFF_LAPACK_FUNCTIONS(FUNCTION, T, R, OR, SY, REAL, COMPLEX)                              \
  FUNCTION(getrf, getrf,                                                                          \
           (TUFF_LAPACK_IN m, TUFF_LAPACK_IN n, T * a, TUFF_LAPACK_IN lda, TUFF_LAPACK_OUT ipiv,  \
            TUFF_LAPACK_OUT info))                                                                \
  FUNCTION(geqrf, geqrf,                                                                          \
           (TUFF_LAPACK_IN m, TUFF_LAPACK_IN n, T * a, TUFF_LAPACK_IN lda, T * tau, T * work,     \
            TUFF_LAPACK_IN lwork, TUFF_LAPACK_OUT info))                                          \
  FUNCTION(geqp3, geqp3,                                                                          \
           (TUFF_LAPACK_IN m, TUFF_LAPACK_IN n, T * a, TUFF_LAPACK_IN lda, TUFF_LAPACK_OUT jpvt,  \
            T * tau, T * work, TUFF_LAPACK_IN lwork, COMPLEX(R * rwork) TUFF_LAPACK_OUT info))    \
  FUNCTION(orgqr, OR##gqr,                                                                        \
           (TUFF_LAPACK_IN m, TUFF_LAPACK_IN n, TUFF_LAPACK_IN k, T * a, TUFF_LAPACK_IN lda,      \
            const T* tau, T* work, TUFF_LAPACK_IN lwork, TUFF_LAPACK_OUT info))                   \
  FUNCTION(                                                                                       \
      ormqr, OR##mqr,                                                                             \
      (TUFF_LAPACK_CHAR side, TUFF_LAPACK_CHAR trans, TUFF_LAPACK_IN m, TUFF_LAPACK_IN n,         \
       TUFF_LAPACK_IN k, const T* a, TUFF_LAPACK_IN lda, const T* tau, T* c, TUFF_LAPACK_IN ldc,  \
       T* work, TUFF_LAPACK_IN lwork, TUFF_LAPACK_OUT info, size_t, size_t))                      \
  FUNCTION(gesdd, gesdd,                                                                          \
           (TUFF_LAPACK_CHAR jobz, TUFF_LAPACK_IN m, TUFF_LAPACK_IN n, T * a, TUFF_LAPACK_IN lda, \
            R * s, T * u, TUFF_LAPACK_IN ldu, T * vt, TUFF_LAPACK_IN ldvt, T * work,              \
            TUFF_LAPACK_IN lwork, COMPLEX(R * rwork) TUFF_LAPACK_OUT iwork, TUFF_LAPACK_OUT info, \
            size_t))                                                                              \
  FUNCTION(                                                                                       \
      gesvd, gesvd,                                                                               \
      (TUFF_LAPACK_CHAR jobu, TUFF_LAPACK_CHAR jobvt, TUFF_LAPACK_IN m, TUFF_LAPACK_IN n, T * a,  \
       TUFF_LAPACK_IN lda, R * s, T * u, TUFF_LAPACK_IN ldu, T * vt, TUFF_LAPACK_IN ldvt,         \
       T * work, TUFF_LAPACK_IN lwork, COMPLEX(R * rwork) TUFF_LAPACK_OUT info, size_t, size_t))  \
  FUNCTION(gees, gees,                                                                            \
           (TUFF_LAPACK_CHAR jobvs, TUFF_LAPACK_CHAR sort, LapackSelect select, TUFF_LAPACK_IN n, \
            T * a, TUFF_LAPACK_IN lda, TUFF_LAPACK_OUT sdim, T * w, REAL(T * wi) T * vs,          \
            TUFF_LAPACK_IN ldvs, T * work, TUFF_LAPACK_IN lwork,                                  \
            COMPLEX(R * rwork) TUFF_LAPACK_OUT bwork, TUFF_LAPACK_OUT info, size_t, size_t))      \
  FUNCTION(geev, geev,                                                                            \
           (TUFF_LAPACK_CHAR jobvl, TUFF_LAPACK_CHAR jobvr, TUFF_LAPACK_IN n, T * a,              \
            TUFF_LAPACK_IN lda, T * w, REAL(T * wi) T * vl, TUFF_LAPACK_IN ldvl, T * vr,          \
            TUFF_LAPACK_IN ldvr, T * work, TUFF_LAPACK_IN lwork,                                  \
            COMPLEX(R * rwork) TUFF_LAPACK_OUT info, size_t, size_t))                             \
  FUNCTION(gehrd, gehrd,                                                                          \
           (TUFF_LAPACK_IN n, TUFF_LAPACK_IN ilo, TUFF_LAPACK_IN ihi, T * a, TUFF_LAPACK_IN lda,  \
            T * tau, T * work, TUFF_LAPACK_IN lwork, TUFF_LAPACK_OUT info))                       \
  FUNCTION(sytrd, SY##trd,                                                                        \
           (TUFF_LAPACK_CHAR uplo, TUFF_LAPACK_IN n, T * a, TUFF_LAPACK_IN lda, R * d, R * e,     \
            T * tau, T * work, TUFF_LAPACK_IN lwork, TUFF_LAPACK_OUT info, size_t))               \
  FUNCTION(gtsv, gtsv,                                                                            \
           (TUFF_LAPACK_IN n, TUFF_LAPACK_IN nrhs, T * dl, T * d, T * du, T * b,                  \
            TUFF_LAPACK_IN ldb, TUFF_LAPACK_OUT info))                                            \
  FUNCTION(syevd, SY##evd,                                                                        \
           (TUFF_LAPACK_CHAR jobz, TUFF_LAPACK_CHAR uplo, TUFF_LAPACK_IN n, T * a,                \
            TUFF_LAPACK_IN lda, R * w, T * work, TUFF_LAPACK_IN lwork,                            \
            COMPLEX(R * rwork) COMPLEX(TUFF_LAPACK_IN lrwork) TUFF_LAPACK_OUT iwork,              \
            TUFF_LAPACK_IN liwork, TUFF_LAPACK_OUT info, size_t, size_t))

#define TUFF_LAPACK_KEPT(parameter) parameter,
#define TUFF_LAPACK_DROPPED(parameter)
#define TUFF_LAPACK_OF_REAL(FUNCTION, T) \
  TUFF_LAPACK_FUNCTIONS(FUNCTION, T, T, or, sy, TUFF_LAPACK_KEPT, TUFF_LAPACK_DROPPED)
#define TUFF_LAPACK_OF_COMPLEX(FUNCTION, R) \
  TUFF_LAPACK_FUNCTIONS(FUNCTION, std::complex<R>, R, un, he, TUFF_LAPACK_DROPPED, TUFF_LAPACK_KEPT)

#define TUFF_DECLARE_S(name, own, parameters) void s##own##_ parameters;
#define TUFF_DECLARE_D(name, own, parameters) void d##own##_ parameters;
#define TUFF_DECLARE_C(name, own, parameters) void c##own##_ parameters;
#define TUFF_DECLARE_Z(name, own, parameters) void z##own##_ parameters;
extern "C" {
TUFF_LAPACK_OF_REAL(TUFF_DECLARE_S, float)
TUFF_LAPACK_OF_REAL(TUFF_DECLARE_D, double)
TUFF_LAPACK_OF_COMPLEX(TUFF_DECLARE_C, float)
TUFF_LAPACK_OF_COMPLEX(TUFF_DECLARE_Z, double)
}

#define TUFF_NAME_S(name, own, parameters) static constexpr auto name = &s##own##_;
#define TUFF_NAME_D(name, own, parameters) static constexpr auto name = &d##own##_;
#define TUFF_NAME_C(name, own, parameters) static constexpr auto name = &c##own##_;
#define TUFF_NAME_Z(name, own, parameters) static constexpr auto name = &z##own##_;
template <>
struct Lapack<float> {
  TUFF_LAPACK_OF_REAL(TUFF_NAME_S, float)
};
template <>
struct Lapack<double> {
  TUFF_LAPACK_OF_REAL(TUFF_NAME_D, double)
};
template <>
struct Lapack<std::complex<float>> {
  TUFF_LAPACK_OF_COMPLEX(TUFF_NAME_C, float)
};
template <>
struct Lapack<std::complex<double>> {
  TUFF_LAPACK_OF_COMPLEX(TUFF_NAME_Z, double)
};

#undef TUFF_NAME_Z
#undef TUFF_NAME_C
#undef TUFF_NAME_D
#undef TUFF_NAME_S
#undef TUFF_DECLARE_Z
#undef TUFF_DECLARE_C
#undef TUFF_DECLARE_D
#undef TUFF_DECLARE_S
#undef TUFF_LAPACK_OF_COMPLEX
#undef TUFF_LAPACK_OF_REAL
#undef TUFF_LAPACK_DROPPED
#undef TUFF_LAPACK_KEPT
#undef TUFF_LAPACK_FUNCTIONS
#undef TUFF_LAPACK_OUT
#undef TUFF_LAPACK_IN
#undef TUFF_LAPACK_CHAR

// An argument that the function of T does not have.
struct NoArgument {};
template <typename T, typename Argument>
auto if_real(Argument argument) {
  if constexpr (kIsComplex<T>)
    return NoArgument{};
  else
    return argument;
}
template <typename T, typename Argument>
auto if_complex(Argument argument) {
  if constexpr (kIsComplex<T>)
    return argument;
  else
    return NoArgument{};
}

// Calls it with the arguments that it has.
template <typename Function, typename... Arguments>
void call_lapack(Function function, Arguments... arguments) {
  auto given = [](auto argument) {
    if constexpr (std::is_same_v<decltype(argument), NoArgument>)
      return std::tuple<>();
    else
      return std::tuple(argument);
  };
  std::apply(function, std::tuple_cat(given(arguments)...));
}

}  // namespace tuff::cpu
