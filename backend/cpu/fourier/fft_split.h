// The transform of a long line in two steps.
#pragma once

#include "backend/cpu/fourier/fft_tables.h"

namespace tuff::cpu {

// A line of n complex numbers, and where its transform goes: the same memory or another. Without
// im, the real and the imaginary parts lie in turns in re.
template <typename T>
struct FftLine {
  const T *re = nullptr, *im = nullptr;
  T *to_re = nullptr, *to_im = nullptr;
  T scale = 1;  // of the results
  bool inverse = false;
};

// n = a * b: the columns of a matrix of a rows are transformed, turned, and become rows; then the
// columns of that matrix are.
template <typename T>
class FftSplit {
 public:
  // has_fft_passes(n).
  FftSplit(int64_t n, const FftFns<T>& fns);

  int64_t n() const { return a_.n * b_.n; }
  // Elements of the memory that a thread needs, and of what the threads at one line share.
  int64_t block_elements() const;
  int64_t middle_elements() const { return 2 * n(); }

  // By the calling thread.
  void run(const FftLine<T>& line, T* middle, T* block) const;
  // By several; blocks: of each.
  void run_shared(const FftLine<T>& line, T* middle, T* blocks, int parts) const;

 private:
  FftBlock<T> block_at(T* memory) const;
  // kBlockColumns columns, from this one on.
  void first(const FftLine<T>& line, int64_t column, T* middle, T* memory) const;
  void second(const FftLine<T>& line, int64_t column, const T* middle, T* memory) const;

  const FftFns<T>& fns_;
  FftPasses<T> a_, b_;
  FftTurns<T> turns_;  // [a, b]
};

}  // namespace tuff::cpu
