// Eigenvalues, singular values, and the forms on the way to them.
#include "backend/cpu/host/lapack_problem.h"

namespace tuff::cpu {

namespace {

template <typename T>
void syevd(const LapackProblem& p) {
  if (refuse_not_finite<T>(p)) return;
  auto a = ColumnMajor<T>::of(p.arguments[0]);
  const char *mode = p.function.mode.c_str(), *uplo = p.function.uplo.c_str();
  LapackInt info = 0;
  std::vector<LapackInt> integers(static_cast<size_t>(5 * std::int64_t{a.n} + 3));
  auto num_integers = static_cast<LapackInt>(integers.size());
  auto n = static_cast<size_t>(a.n);
  std::vector<RealOf<T>> real_work(kIsComplex<T> ? 1 + 5 * n + 2 * n * n : 0);
  auto num_reals = static_cast<LapackInt>(real_work.size());
  with_work<T>([&](T* work, LapackInt size) {
    call_lapack(Lapack<T>::syevd, mode, uplo, &a.n, a.data(), &a.ld, p.results[1].as<RealOf<T>>(),
                work, &size, if_complex<T>(real_work.data()), if_complex<T>(&num_reals),
                integers.data(), &num_integers, &info, 1, 1);
  });
  a.store(p.results[0]);
  p.set_info(info);
}

// gesdd and gesvd: call(a, u, vt, work, size, info).
template <typename T, typename Call>
void singular_values(const LapackProblem& p, const Call& call) {
  if (refuse_not_finite<T>(p)) return;
  auto a = ColumnMajor<T>::of(p.arguments[0]);
  ColumnMajor<T> u(p.results[2]), vt(p.results[3]);
  LapackInt info = 0;
  with_work<T>([&](T* work, LapackInt size) { call(a, u, vt, work, &size, &info); });
  a.store(p.results[0]);
  u.store(p.results[2]);
  vt.store(p.results[3]);
  p.set_info(info);
}

template <typename T>
void gesdd(const LapackProblem& p) {
  auto least = static_cast<size_t>(p.results[1].count());
  std::vector<LapackInt> integers(8 * least + 1);
  auto most = static_cast<size_t>(std::max(p.arguments[0].size(0), p.arguments[0].size(1)));
  size_t reals = std::max(5 * least + 7, 2 * most + 2 * least + 1) * least + 1;
  std::vector<RealOf<T>> real_work(kIsComplex<T> ? reals : 0);
  auto call = [&](ColumnMajor<T>& a, ColumnMajor<T>& u, ColumnMajor<T>& vt, T* work,
                  const LapackInt* size, LapackInt* info) {
    call_lapack(Lapack<T>::gesdd, p.function.mode.c_str(), &a.m, &a.n, a.data(), &a.ld,
                p.results[1].as<RealOf<T>>(), u.data(), &u.ld, vt.data(), &vt.ld, work, size,
                if_complex<T>(real_work.data()), integers.data(), info, 1);
  };
  singular_values<T>(p, call);
}

template <typename T>
void gesvd(const LapackProblem& p) {
  const char* mode = p.function.mode.c_str();
  auto least = static_cast<size_t>(p.results[1].count());
  std::vector<RealOf<T>> real_work(kIsComplex<T> ? 5 * least + 1 : 0);
  auto call = [&](ColumnMajor<T>& a, ColumnMajor<T>& u, ColumnMajor<T>& vt, T* work,
                  const LapackInt* size, LapackInt* info) {
    call_lapack(Lapack<T>::gesvd, mode, mode, &a.m, &a.n, a.data(), &a.ld,
                p.results[1].as<RealOf<T>>(), u.data(), &u.ld, vt.data(), &vt.ld, work, size,
                if_complex<T>(real_work.data()), info, 1, 1);
  };
  singular_values<T>(p, call);
}

template <typename T>
void gees(const LapackProblem& p) {
  if (refuse_not_finite<T>(p)) return;
  auto a = ColumnMajor<T>::of(p.arguments[0]);
  ColumnMajor<T> vectors(p.results[1]);
  LapackInt info = 0;
  std::vector<LapackInt> chosen(static_cast<size_t>(a.ld));
  std::vector<RealOf<T>> real_work(static_cast<size_t>(a.ld));
  const LapackOperand& count = p.results[p.results.size() - 2];
  with_work<T>([&](T* work, LapackInt size) {
    call_lapack(Lapack<T>::gees, p.function.mode.c_str(), "N", nullptr, &a.n, a.data(), &a.ld,
                count.as<LapackInt>(), p.results[2].as<T>(), if_real<T>(p.results[3].as<T>()),
                vectors.data(), &vectors.ld, work, &size, if_complex<T>(real_work.data()),
                chosen.data(), &info, 1, 1);
  });
  a.store(p.results[0]);
  vectors.store(p.results[1]);
  p.set_info(info);
}

// The vectors of real matrices: those of two eigenvalues that are each other's conjugates lie as a
// column of real and one of imaginary parts, for the first of the two.
template <typename T>
void store_vectors(const ColumnMajor<T>& vectors, const T* imaginary, const LapackOperand& result) {
  const LapackInt n = vectors.n;
  for (LapackInt j = 0; j < n; ++j) {
    bool second = imaginary[j] < 0;  // the first has the positive one
    bool paired = imaginary[j] != 0;
    LapackInt real_column = second ? j - 1 : j;
    for (LapackInt i = 0; i < n; ++i) {
      T re = vectors.at(i, real_column), im = paired ? vectors.at(i, real_column + 1) : T{0};
      result.as<std::complex<T>>()[int64_t{i} * n + j] = {re, second ? -im : im};
    }
  }
}

template <typename T>
void geev(const LapackProblem& p) {
  if (refuse_not_finite<T>(p)) return;
  auto a = ColumnMajor<T>::of(p.arguments[0]);
  size_t first = kIsComplex<T> ? 1 : 2;  // of the vectors' results
  ColumnMajor<T> left(p.results[first]), right(p.results[first + 1]);
  LapackInt info = 0;
  const char left_mode[] = {p.function.mode[0], 0}, right_mode[] = {p.function.mode[1], 0};
  std::vector<RealOf<T>> real_work(kIsComplex<T> ? 2 * static_cast<size_t>(a.ld) : 0);
  with_work<T>([&](T* work, LapackInt size) {
    call_lapack(Lapack<T>::geev, &left_mode[0], &right_mode[0], &a.n, a.data(), &a.ld,
                p.results[0].as<T>(), if_real<T>(p.results[1].as<T>()), left.data(), &left.ld,
                right.data(), &right.ld, work, &size, if_complex<T>(real_work.data()), &info, 1, 1);
  });
  if constexpr (kIsComplex<T>) {
    left.store(p.results[first]);
    right.store(p.results[first + 1]);
  } else {
    store_vectors(left, p.results[1].as<T>(), p.results[first]);
    store_vectors(right, p.results[1].as<T>(), p.results[first + 1]);
  }
  p.set_info(info);
}

template <typename T>
void gehrd(const LapackProblem& p) {
  auto a = ColumnMajor<T>::of(p.arguments[0]);
  LapackInt info = 0, first = 1;
  with_work<T>([&](T* work, LapackInt size) {
    Lapack<T>::gehrd(&a.n, &first, &a.n, a.data(), &a.ld, p.results[1].as<T>(), work, &size, &info);
  });
  a.store(p.results[0]);
  p.set_info(info);
}

template <typename T>
void sytrd(const LapackProblem& p) {
  auto a = ColumnMajor<T>::of(p.arguments[0]);
  LapackInt info = 0;
  with_work<T>([&](T* work, LapackInt size) {
    using Real = RealOf<T>;
    Lapack<T>::sytrd(p.function.uplo.c_str(), &a.n, a.data(), &a.ld, p.results[1].as<Real>(),
                     p.results[2].as<Real>(), p.results[3].as<T>(), work, &size, &info, 1);
  });
  a.store(p.results[0]);
  p.set_info(info);
}

}  // namespace

template <typename T>
LapackFunction find_spectral(HostFunction function) {
  switch (function) {
    case HostFunction::kSyevd: return syevd<T>;
    case HostFunction::kGesdd: return gesdd<T>;
    case HostFunction::kGesvd: return gesvd<T>;
    case HostFunction::kGees: return gees<T>;
    case HostFunction::kGeev: return geev<T>;
    case HostFunction::kGehrd: return gehrd<T>;
    case HostFunction::kSytrd: return sytrd<T>;
    default: return nullptr;
  }
}

template LapackFunction find_spectral<float>(HostFunction function);
template LapackFunction find_spectral<double>(HostFunction function);
template LapackFunction find_spectral<std::complex<float>>(HostFunction function);
template LapackFunction find_spectral<std::complex<double>>(HostFunction function);

}  // namespace tuff::cpu
