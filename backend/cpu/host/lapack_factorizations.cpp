// Factorizations by elimination and by reflections, and systems of equations.
#include "backend/cpu/host/lapack_problem.h"

namespace tuff::cpu {

namespace {

template <typename T>
void copy_vector(const LapackOperand& from, const LapackOperand& to) {
  if (to.data != nullptr)
    std::memcpy(to.data, from.data, static_cast<size_t>(to.count()) * sizeof(RealOf<T>));
}

template <typename T>
void getrf(const LapackProblem& p) {
  auto a = ColumnMajor<T>::of(p.arguments[0]);
  LapackInt info = 0;
  Lapack<T>::getrf(&a.m, &a.n, a.data(), &a.ld, p.results[1].as<LapackInt>(), &info);
  a.store(p.results[0]);
  p.set_info(info);
}

template <typename T>
void geqrf(const LapackProblem& p) {
  auto a = ColumnMajor<T>::of(p.arguments[0]);
  LapackInt info = 0;
  with_work<T>([&](T* work, LapackInt size) {
    Lapack<T>::geqrf(&a.m, &a.n, a.data(), &a.ld, p.results[1].as<T>(), work, &size, &info);
  });
  a.store(p.results[0]);
}

template <typename T>
void geqp3(const LapackProblem& p) {
  auto a = ColumnMajor<T>::of(p.arguments[0]);
  copy_vector<LapackInt>(p.arguments[1], p.results[1]);
  LapackInt info = 0;
  std::vector<RealOf<T>> real_work(kIsComplex<T> ? 2 * static_cast<size_t>(a.n) + 1 : 0);
  with_work<T>([&](T* work, LapackInt size) {
    call_lapack(Lapack<T>::geqp3, &a.m, &a.n, a.data(), &a.ld, p.results[1].as<LapackInt>(),
                p.results[2].as<T>(), work, &size, if_complex<T>(real_work.data()), &info);
  });
  a.store(p.results[0]);
}

template <typename T>
void orgqr(const LapackProblem& p) {
  auto a = ColumnMajor<T>::of(p.arguments[0]);
  LapackInt info = 0, reflectors = p.arguments[1].size(0);
  with_work<T>([&](T* work, LapackInt size) {
    Lapack<T>::orgqr(&a.m, &a.n, &reflectors, a.data(), &a.ld, p.arguments[1].as<T>(), work, &size,
                     &info);
  });
  a.store(p.results[0]);
}

template <typename T>
void ormqr(const LapackProblem& p) {
  auto a = ColumnMajor<T>::of(p.arguments[0]), c = ColumnMajor<T>::of(p.arguments[2]);
  LapackInt info = 0, reflectors = p.arguments[1].size(0);
  const char* side = p.function.left ? "L" : "R";
  const char* trans = !p.function.transpose ? "N" : kIsComplex<T> ? "C" : "T";
  with_work<T>([&](T* work, LapackInt size) {
    Lapack<T>::ormqr(side, trans, &c.m, &c.n, &reflectors, a.data(), &a.ld, p.arguments[1].as<T>(),
                     c.data(), &c.ld, work, &size, &info, 1, 1);
  });
  c.store(p.results[0]);
}

// The first element of the lower diagonal and the last one of the upper are not part of it.
template <typename T>
void gtsv(const LapackProblem& p) {
  for (size_t i = 0; i < 3; ++i) copy_vector<T>(p.arguments[i], p.results[i]);
  auto b = ColumnMajor<T>::of(p.arguments[3]);
  LapackInt info = 0;
  T* lower = p.results[0].as<T>();
  Lapack<T>::gtsv(&b.m, &b.n, lower + (b.m > 0 ? 1 : 0), p.results[1].as<T>(), p.results[2].as<T>(),
                  b.data(), &b.ld, &info);
  b.store(p.results[3]);
  p.set_info(info);
}

}  // namespace

template <typename T>
LapackFunction find_factorization(HostFunction function) {
  switch (function) {
    case HostFunction::kGetrf: return getrf<T>;
    case HostFunction::kGeqrf: return geqrf<T>;
    case HostFunction::kGeqp3: return geqp3<T>;
    case HostFunction::kOrgqr: return orgqr<T>;
    case HostFunction::kOrmqr: return ormqr<T>;
    case HostFunction::kGtsv: return gtsv<T>;
    default: return nullptr;
  }
}

template LapackFunction find_factorization<float>(HostFunction function);
template LapackFunction find_factorization<double>(HostFunction function);
template LapackFunction find_factorization<std::complex<float>>(HostFunction function);
template LapackFunction find_factorization<std::complex<double>>(HostFunction function);

}  // namespace tuff::cpu
