#include "ir/ops/fourier.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace tuff {

namespace {

using Complex = std::complex<double>;
using Line = std::vector<Complex>;

// Without the look after infinities that std::complex has in its product.
Complex times(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Lengths that are powers of two: halves of halves, the elements in bit-reversed order first.
void transform_power_of_two(Line& x, bool inverse) {
  size_t n = x.size();
  for (size_t i = 1, reversed = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; reversed & bit; bit >>= 1) reversed ^= bit;
    reversed ^= bit;
    if (i < reversed) std::swap(x[i], x[reversed]);
  }
  Line roots(n / 2);
  for (size_t k = 0; k < n / 2; ++k) {
    Complex root = root_of_unity(static_cast<int64_t>(k), static_cast<int64_t>(n));
    roots[k] = inverse ? root : std::conj(root);
  }
  for (size_t half = 1; half < n; half *= 2)
    for (size_t first = 0; first < n; first += 2 * half)
      for (size_t k = 0; k < half; ++k) {
        Complex &even = x[first + k], &odd = x[first + half + k];
        Complex turned = times(odd, roots[k * (n / 2 / half)]);
        odd = even - turned;
        even += turned;
      }
}

// Any length, as Bluestein does: jk = (j^2 + k^2 - (k - j)^2) / 2 makes the sum a convolution.
void transform_any(Line& x, bool inverse) {
  auto n = static_cast<int64_t>(x.size()), size = power_of_two_from(2 * n - 1);
  Line turned(static_cast<size_t>(size)), kernel(static_cast<size_t>(size));
  auto turn = [&](int64_t k) { return inverse ? chirp(k, n) : std::conj(chirp(k, n)); };
  for (int64_t k = 0; k < n; ++k) {
    auto at = static_cast<size_t>(k);
    turned[at] = times(x[at], turn(k));
    kernel[at] = kernel[static_cast<size_t>((size - k) % size)] = std::conj(turn(k));
  }
  transform_power_of_two(turned, false);
  transform_power_of_two(kernel, false);
  for (size_t i = 0; i < turned.size(); ++i) turned[i] = times(turned[i], kernel[i]);
  transform_power_of_two(turned, true);
  for (int64_t k = 0; k < n; ++k) {
    auto at = static_cast<size_t>(k);
    x[at] = times(turned[at], turn(k)) / static_cast<double>(size);
  }
}

}  // namespace

FftForm fft_form(const Node& fft) {
  const auto& [type, length] = fft.attrs.as<FftAttrs>();
  return {type == FftType::kIfft || type == FftType::kIrfft, type == FftType::kRfft,
          type == FftType::kIrfft, length};
}

Complex root_of_unity(int64_t k, int64_t n) {
  // Quarters of a turn are exact: what is 0 comes out as 0.
  int64_t quarters = k % n * 4 / n, rest = k % n * 4 % n;
  double angle = std::numbers::pi / 2 * static_cast<double>(rest) / static_cast<double>(n);
  double c = std::cos(angle), s = std::sin(angle);
  switch (quarters) {
    case 0: return {c, s};
    case 1: return {-s, c};
    case 2: return {-c, -s};
    default: return {s, -c};
  }
}

Complex chirp(int64_t k, int64_t n) {
  // k^2 is only needed modulo 2 n, which keeps the angle exact.
  auto square = static_cast<unsigned __int128>(k) * static_cast<unsigned __int128>(k);
  return root_of_unity(static_cast<int64_t>(square % static_cast<unsigned __int128>(2 * n)), 2 * n);
}

int64_t power_of_two_from(int64_t n) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)));
}

void fourier_transform(Line& x, bool inverse) {
  if (x.size() < 2) return;
  if (std::has_single_bit(x.size()))
    transform_power_of_two(x, inverse);
  else
    transform_any(x, inverse);
}

}  // namespace tuff
