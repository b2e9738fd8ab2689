#include "backend/cpu/fourier/fft_tables.h"

#include "ir/ops/fourier.h"

namespace tuff::cpu {

namespace {

// Eights, and fours where these leave two or four; then the primes from the least on.
std::vector<int64_t> radices_of(int64_t n) {
  std::vector<int64_t> radices;
  int64_t twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  for (; twos % 3 != 0 && twos >= 2; twos -= 2) radices.push_back(4);
  for (; twos >= 3; twos -= 3) radices.push_back(8);
  if (twos == 1) radices.push_back(2);
  for (int64_t p = 3; n > 1; p += 2) {
    if (p * p > n) p = n;
    for (; n % p == 0; n /= p) radices.push_back(p);
  }
  return radices;
}

template <typename T>
void add(std::vector<T>& numbers, const std::complex<double>& number) {
  numbers.push_back(static_cast<T>(number.real()));
  numbers.push_back(static_cast<T>(number.imag()));
}

}  // namespace

bool has_fft_passes(int64_t n) {
  for (int64_t radix : radices_of(n))
    if (radix > kMaxRadix) return false;
  return true;
}

template <typename T>
FftPasses<T> make_fft_passes(int64_t n) {
  FftPasses<T> result{n, {}};
  int64_t stride = 1;
  for (int64_t radix : radices_of(n)) {
    const int64_t length = n / stride;
    FftPass<T> pass{radix, length / radix, stride, {}, {}};
    for (int64_t p = 1; p < pass.count; ++p)
      for (int64_t j = 1; j < radix; ++j) add(pass.turns, std::conj(root_of_unity(p * j, length)));
    for (int64_t k = 0; radix > 5 && radix != 8 && k < radix; ++k)
      add(pass.roots, std::conj(root_of_unity(k, radix)));
    result.passes.push_back(std::move(pass));
    stride *= radix;
  }
  return result;
}

template FftPasses<float> make_fft_passes<float>(int64_t n);
template FftPasses<double> make_fft_passes<double>(int64_t n);

}  // namespace tuff::cpu
