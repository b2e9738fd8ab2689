// The transforms along one dimension of a tensor.
#pragma once

#include <optional>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/fourier/fft_split.h"
#include "ir/ops/fourier.h"
#include "ir/support/result.h"

namespace tuff::cpu {

// [outer, n, inner] complex numbers. Of real ones, whose inner is 1, the other side has the first
// n / 2 + 1 of the spectrum.
struct FftLines {
  enum class Kind { kComplex, kRealToHalf, kHalfToReal };
  Kind kind = Kind::kComplex;
  bool inverse = false;  // divides by n
  int64_t outer = 1, n = 1, inner = 1;
};

// What is transformed, and where to: the same memory or another where both are complex. What is
// real has no im.
template <typename T>
struct FftEnds {
  const T *re = nullptr, *im = nullptr;
  T *to_re = nullptr, *to_im = nullptr;
};

template <typename T>
class FftDimension {
 public:
  FftDimension(const FftLines& lines, const FftFns<T>& fns);
  // One run at a time.
  Status run(const FftEnds<T>& ends);

 private:
  enum class Way {
    kColumns,     // of blocks, as they lie in memory
    kShortLines,  // as columns of blocks
    kLongLines,   // each by FftSplit
    kAnyLines,    // each in memory of its own, as a convolution where need be
  };

  Way choose() const;
  bool is_real() const { return lines_.kind != FftLines::Kind::kComplex; }
  // Real numbers are complex ones, two by two.
  bool by_pairs() const { return is_real() && lines_.n % 2 == 0; }
  int64_t core() const { return by_pairs() ? lines_.n / 2 : lines_.n; }
  int64_t half() const { return half_spectrum(lines_.n); }
  int64_t given() const { return lines_.kind == FftLines::Kind::kHalfToReal ? half() : lines_.n; }
  int64_t wanted() const { return lines_.kind == FftLines::Kind::kRealToHalf ? half() : lines_.n; }
  void prepare_convolution();

  int64_t items() const;  // that threads take one by one
  int64_t scratch_elements() const;
  void run_item(int64_t item, const FftEnds<T>& ends, T* scratch) const;
  Status run_long_shared(const FftEnds<T>& ends, int parts);

  FftBlock<T> block_at(T* scratch, int64_t rows) const;
  void columns(int64_t item, const FftEnds<T>& ends, T* scratch) const;
  void short_lines(int64_t item, const FftEnds<T>& ends, T* scratch) const;
  void load_short(int64_t count, const FftEnds<T>& ends, FftBlock<T>& block) const;
  void store_short(int64_t count, const FftEnds<T>& ends, const FftBlock<T>& block) const;
  // split(line) transforms a line; z: memory for one.
  template <typename Split>
  void long_line(int64_t item, const FftEnds<T>& ends, T* z, const Split& split) const;
  void any_line(int64_t item, const FftEnds<T>& ends, T* scratch) const;
  void gather(int64_t item, const FftEnds<T>& ends, T* re, T* im) const;

  FftLines lines_;
  const FftFns<T>& fns_;
  Way way_;
  T scale_;                           // of the results
  FftPasses<T> passes_;               // of columns and short lines
  FftTurns<T> unfolding_;             // of pairs
  std::optional<FftSplit<T>> split_;  // of a line, or of the convolution's
  FftTurns<T> chirp_, kernel_;        // of a convolution
  AlignedBytes shared_;               // of a line that several threads work at
};

}  // namespace tuff::cpu
