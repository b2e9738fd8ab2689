// What a fast Fourier transform of a length needs to know, and what the processor levels do of it.
//
// Lines are transformed side by side, as the columns of blocks: a row is one cache line and holds
// an element of each. So every step is one on whole vectors, whatever the length. Only forward:
// an inverse transform is a forward one with the real and the imaginary parts exchanged, twice.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cpu/lanes/block_columns.h"

namespace tuff::cpu {

// A length with a larger prime factor is transformed as a convolution.
inline constexpr int64_t kMaxRadix = 31;

// One pass of Stockham's algorithm: with s = stride and m = count,
//   y[q + s * (radix * p + j)] = turn[p][j] * sum over k of x[q + s * (p + m * k)] * root^(j * k)
// for p < m and q < s. After the last one the elements stand in their order.
template <typename T>
struct FftPass {
  int64_t radix = 1, count = 1, stride = 1;
  std::vector<T> turns;  // of each p > 0 those of j > 0, re and im
  std::vector<T> roots;  // radix of them, re and im; only where no code knows the radix
};

// The passes of a length; none where it has too large a prime factor.
template <typename T>
struct FftPasses {
  int64_t n = 1;
  std::vector<FftPass<T>> passes;
};
bool has_fft_passes(int64_t n);
template <typename T>
FftPasses<T> make_fft_passes(int64_t n);

// exp(-2 pi i * k / n) for k < count, in two arrays.
template <typename T>
struct FftTurns {
  std::vector<T> re, im;
  void add(const std::complex<double>& turn) {
    re.push_back(static_cast<T>(turn.real()));
    im.push_back(static_cast<T>(turn.imag()));
  }
};

// Two blocks of rows; a pass reads the first and writes the second, and then they change places.
template <typename T>
struct FftBlock {
  T *re, *im, *other_re, *other_im;
};

// By processor level. Blocks are aligned to cache lines; columns beyond those named are read as 0
// and not written.
template <typename T>
struct FftFns {
  void (*transform)(const FftPasses<T>& passes, FftBlock<T>& block);
  // block[r][c] = from[r * stride + c], and the reverse times `scale`.
  void (*load)(int64_t rows, int64_t columns, const T* from, int64_t stride, T* block);
  void (*store)(int64_t rows, int64_t columns, T scale, const T* block, T* to, int64_t stride);
  // The same of from[c * stride + r]. With `odd`, rows 2 r are block[r], rows 2 r + 1 odd[r].
  void (*load_lines)(int64_t rows, int64_t columns, const T* from, int64_t stride, T* block,
                     T* odd);
  void (*store_lines)(int64_t rows, int64_t columns, T scale, const T* block, const T* odd, T* to,
                      int64_t stride);
  // even[r][c] = from[r * stride + 2 * c], odd[r][c] what comes after it; and the reverse.
  void (*load_pairs)(int64_t rows, int64_t columns, const T* from, int64_t stride, T* even, T* odd);
  void (*store_pairs)(int64_t rows, int64_t columns, T scale, const T* even, const T* odd, T* to,
                      int64_t stride);
  // block[r][c] *= turn[r * stride + c].
  void (*turn)(int64_t rows, int64_t columns, const T* turn_re, const T* turn_im, int64_t stride,
               T* re, T* im);
  // z *= turn, for n complex numbers.
  void (*multiply)(int64_t n, const T* turn_re, const T* turn_im, T* re, T* im);
  // The transform of 2 m real numbers, elements 0 to m, from that of the m complex ones that they
  // are two by two; and the reverse, twice as large. Of a block, in place; of a line.
  // turns: -i * exp(-pi i * k / m), k <= m / 2.
  void (*unfold_rows)(int64_t m, const FftTurns<T>& turns, T* re, T* im);
  void (*fold_rows)(int64_t m, const FftTurns<T>& turns, T* re, T* im);
  void (*unfold_line)(int64_t m, const FftTurns<T>& turns, const T* re, const T* im, T* to_re,
                      T* to_im);
  void (*fold_line)(int64_t m, const FftTurns<T>& turns, const T* re, const T* im, T* to_re,
                    T* to_im);
};

}  // namespace tuff::cpu
