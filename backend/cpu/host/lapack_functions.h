// The functions of LAPACK that are called, by element type: Lapack<float>::getrf is sgetrf. Fortran
// takes everything by address, and the lengths of texts after all else.
#pragma once

#include <cstddef>

namespace tuff::cpu {

using LapackInt = int;  // of LAPACKs that Debian has, unless they say "64"

template <typename T>
struct Lapack;

// What LAPACK is asked which eigenvalues come first; we never ask for an order.
template <typename T>
using LapackSelect = LapackInt (*)(const T*, const T*);

#define TUFF_LAPACK_CHAR const char*
#define TUFF_LAPACK_IN const LapackInt*
#define TUFF_LAPACK_OUT LapackInt*

// FUNCTION(name, parameters) for every function.
#define TUFF_LAPACK_FUNCTIONS(FUNCTION, T)                                                        \
  FUNCTION(getrf, (TUFF_LAPACK_IN m, TUFF_LAPACK_IN n, T * a, TUFF_LAPACK_IN lda,                 \
                   TUFF_LAPACK_OUT ipiv, TUFF_LAPACK_OUT info))                                   \
  FUNCTION(geqrf, (TUFF_LAPACK_IN m, TUFF_LAPACK_IN n, T * a, TUFF_LAPACK_IN lda, T * tau,        \
                   T * work, TUFF_LAPACK_IN lwork, TUFF_LAPACK_OUT info))                         \
  FUNCTION(geqp3,                                                                                 \
           (TUFF_LAPACK_IN m, TUFF_LAPACK_IN n, T * a, TUFF_LAPACK_IN lda, TUFF_LAPACK_OUT jpvt,  \
            T * tau, T * work, TUFF_LAPACK_IN lwork, TUFF_LAPACK_OUT info))                       \
  FUNCTION(orgqr,                                                                                 \
           (TUFF_LAPACK_IN m, TUFF_LAPACK_IN n, TUFF_LAPACK_IN k, T * a, TUFF_LAPACK_IN lda,      \
            const T* tau, T* work, TUFF_LAPACK_IN lwork, TUFF_LAPACK_OUT info))                   \
  FUNCTION(ormqr, (TUFF_LAPACK_CHAR side, TUFF_LAPACK_CHAR trans, TUFF_LAPACK_IN m,               \
                   TUFF_LAPACK_IN n, TUFF_LAPACK_IN k, const T* a, TUFF_LAPACK_IN lda,            \
                   const T* tau, T* c, TUFF_LAPACK_IN ldc, T* work, TUFF_LAPACK_IN lwork,         \
                   TUFF_LAPACK_OUT info, size_t, size_t))                                         \
  FUNCTION(syevd,                                                                                 \
           (TUFF_LAPACK_CHAR jobz, TUFF_LAPACK_CHAR uplo, TUFF_LAPACK_IN n, T * a,                \
            TUFF_LAPACK_IN lda, T * w, T * work, TUFF_LAPACK_IN lwork, TUFF_LAPACK_OUT iwork,     \
            TUFF_LAPACK_IN liwork, TUFF_LAPACK_OUT info, size_t, size_t))                         \
  FUNCTION(gesdd,                                                                                 \
           (TUFF_LAPACK_CHAR jobz, TUFF_LAPACK_IN m, TUFF_LAPACK_IN n, T * a, TUFF_LAPACK_IN lda, \
            T * s, T * u, TUFF_LAPACK_IN ldu, T * vt, TUFF_LAPACK_IN ldvt, T * work,              \
            TUFF_LAPACK_IN lwork, TUFF_LAPACK_OUT iwork, TUFF_LAPACK_OUT info, size_t))           \
  FUNCTION(gesvd, (TUFF_LAPACK_CHAR jobu, TUFF_LAPACK_CHAR jobvt, TUFF_LAPACK_IN m,               \
                   TUFF_LAPACK_IN n, T * a, TUFF_LAPACK_IN lda, T * s, T * u, TUFF_LAPACK_IN ldu, \
                   T * vt, TUFF_LAPACK_IN ldvt, T * work, TUFF_LAPACK_IN lwork,                   \
                   TUFF_LAPACK_OUT info, size_t, size_t))                                         \
  FUNCTION(gees, (TUFF_LAPACK_CHAR jobvs, TUFF_LAPACK_CHAR sort, LapackSelect<T> select,          \
                  TUFF_LAPACK_IN n, T * a, TUFF_LAPACK_IN lda, TUFF_LAPACK_OUT sdim, T * wr,      \
                  T * wi, T * vs, TUFF_LAPACK_IN ldvs, T * work, TUFF_LAPACK_IN lwork,            \
                  TUFF_LAPACK_OUT bwork, TUFF_LAPACK_OUT info, size_t, size_t))                   \
  FUNCTION(gehrd,                                                                                 \
           (TUFF_LAPACK_IN n, TUFF_LAPACK_IN ilo, TUFF_LAPACK_IN ihi, T * a, TUFF_LAPACK_IN lda,  \
            T * tau, T * work, TUFF_LAPACK_IN lwork, TUFF_LAPACK_OUT info))                       \
  FUNCTION(sytrd, (TUFF_LAPACK_CHAR uplo, TUFF_LAPACK_IN n, T * a, TUFF_LAPACK_IN lda, T * d,     \
                   T * e, T * tau, T * work, TUFF_LAPACK_IN lwork, TUFF_LAPACK_OUT info, size_t)) \
  FUNCTION(gtsv, (TUFF_LAPACK_IN n, TUFF_LAPACK_IN nrhs, T * dl, T * d, T * du, T * b,            \
                  TUFF_LAPACK_IN ldb, TUFF_LAPACK_OUT info))

#define TUFF_DECLARE_S(name, parameters) void s##name##_ parameters;
#define TUFF_DECLARE_D(name, parameters) void d##name##_ parameters;
extern "C" {
TUFF_LAPACK_FUNCTIONS(TUFF_DECLARE_S, float)
TUFF_LAPACK_FUNCTIONS(TUFF_DECLARE_D, double)
}

#define TUFF_NAME_S(name, parameters) static constexpr auto name = &s##name##_;
#define TUFF_NAME_D(name, parameters) static constexpr auto name = &d##name##_;
template <>
struct Lapack<float> {
  TUFF_LAPACK_FUNCTIONS(TUFF_NAME_S, float)
};
template <>
struct Lapack<double> {
  TUFF_LAPACK_FUNCTIONS(TUFF_NAME_D, double)
};

#undef TUFF_NAME_D
#undef TUFF_NAME_S
#undef TUFF_DECLARE_D
#undef TUFF_DECLARE_S
#undef TUFF_LAPACK_FUNCTIONS
#undef TUFF_LAPACK_OUT
#undef TUFF_LAPACK_IN
#undef TUFF_LAPACK_CHAR

}  // namespace tuff::cpu
