// What an fft node says, and discrete Fourier transforms on the host, in double.
#pragma once

#include <complex>
#include <vector>

#include "ir/graph.h"

namespace tuff {

// An fft works on pairs of real tensors, since the graph has no complex types:
//   FFT, IFFT   (re, im) -> (re, im)
//   RFFT        (re) -> (re, im), the first half of the last dimension
//   IRFFT       (re, im) -> (re), the reverse
// The transformed dimensions are the last ones, as many as `length` has.
struct FftForm {
  bool inverse = false;
  bool real_input = false, real_result = false;
  std::vector<int64_t> length;

  size_t operands() const { return real_input ? 1 : 2; }
  size_t results() const { return real_result ? 1 : 2; }
};
FftForm fft_form(const Node& fft);

// Of a real line of n numbers, those of its transform that do not follow from others.
inline int64_t half_spectrum(int64_t n) { return n == 0 ? 0 : n / 2 + 1; }

// exp(2 pi i * k / n), for any k >= 0 and n > 0.
std::complex<double> root_of_unity(int64_t k, int64_t n);
// exp(pi i * k^2 / n): what makes a convolution of a transform of any length.
std::complex<double> chirp(int64_t k, int64_t n);
// The least power of two that is no less than n.
int64_t power_of_two_from(int64_t n);

// Replaces x by its transform: element k becomes the sum of x[j] * exp(-2 pi i * j k / n), or
// exp(+...) where inverse, which does not divide by n. Any length.
void fourier_transform(std::vector<std::complex<double>>& x, bool inverse);

}  // namespace tuff
