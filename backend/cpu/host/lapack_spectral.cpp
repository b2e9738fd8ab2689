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
  with_work<T>([&](T* work, LapackInt size) {
    Lapack<T>::syevd(mode, uplo, &a.n, a.data(), &a.ld, p.results[1].as<T>(), work, &size,
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
  std::vector<LapackInt> integers(8 * static_cast<size_t>(p.results[1].count()) + 1);
  auto call = [&](ColumnMajor<T>& a, ColumnMajor<T>& u, ColumnMajor<T>& vt, T* work,
                  const LapackInt* size, LapackInt* info) {
    Lapack<T>::gesdd(p.function.mode.c_str(), &a.m, &a.n, a.data(), &a.ld, p.results[1].as<T>(),
                     u.data(), &u.ld, vt.data(), &vt.ld, work, size, integers.data(), info, 1);
  };
  singular_values<T>(p, call);
}

template <typename T>
void gesvd(const LapackProblem& p) {
  const char* mode = p.function.mode.c_str();
  auto call = [&](ColumnMajor<T>& a, ColumnMajor<T>& u, ColumnMajor<T>& vt, T* work,
                  const LapackInt* size, LapackInt* info) {
    Lapack<T>::gesvd(mode, mode, &a.m, &a.n, a.data(), &a.ld, p.results[1].as<T>(), u.data(), &u.ld,
                     vt.data(), &vt.ld, work, size, info, 1, 1);
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
  with_work<T>([&](T* work, LapackInt size) {
    Lapack<T>::gees(p.function.mode.c_str(), "N", nullptr, &a.n, a.data(), &a.ld,
                    p.results[4].as<LapackInt>(), p.results[2].as<T>(), p.results[3].as<T>(),
                    vectors.data(), &vectors.ld, work, &size, chosen.data(), &info, 1, 1);
  });
  a.store(p.results[0]);
  vectors.store(p.results[1]);
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
    Lapack<T>::sytrd(p.function.uplo.c_str(), &a.n, a.data(), &a.ld, p.results[1].as<T>(),
                     p.results[2].as<T>(), p.results[3].as<T>(), work, &size, &info, 1);
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
    case HostFunction::kGehrd: return gehrd<T>;
    case HostFunction::kSytrd: return sytrd<T>;
    default: return nullptr;
  }
}

template LapackFunction find_spectral<float>(HostFunction function);
template LapackFunction find_spectral<double>(HostFunction function);

}  // namespace tuff::cpu
