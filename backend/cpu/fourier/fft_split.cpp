#include "backend/cpu/fourier/fft_split.h"

#include <algorithm>
#include <utility>

#include "backend/cpu/aligned_memory.h"
#include "backend/cpu/thread_pool.h"
#include "ir/ops/fourier.h"

namespace tuff::cpu {

namespace {

// The divisor a of n = a * b for which the blocks of both steps have the fewest rows: they are as
// wide whatever there is to fill them.
template <typename T>
int64_t best_divisor(int64_t n) {
  auto blocks = [](int64_t columns) { return round_up(columns, kBlockColumns<T>); };
  int64_t best = n, least = 0;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    for (int64_t a : {d, n / d}) {
      const int64_t rows = blocks(n / a) * a + blocks(a) * (n / a);
      // Of as many rows, the ones that are most alike: d grows.
      if (least == 0 || rows <= least) best = a, least = rows;
    }
  }
  return best;
}

}  // namespace

template <typename T>
FftSplit<T>::FftSplit(int64_t n, const FftFns<T>& fns) : fns_(fns) {
  const int64_t a = best_divisor<T>(n);
  a_ = make_fft_passes<T>(a);
  b_ = make_fft_passes<T>(n / a);
  for (int64_t k = 0; k < a; ++k)
    for (int64_t j = 0; j < n / a; ++j) turns_.add(std::conj(root_of_unity(k * j, n)));
}

template <typename T>
int64_t FftSplit<T>::block_elements() const {
  return 4 * std::max(a_.n, b_.n) * kBlockColumns<T>;
}

template <typename T>
FftBlock<T> FftSplit<T>::block_at(T* memory) const {
  const int64_t part = block_elements() / 4;
  return {memory, memory + part, memory + 2 * part, memory + 3 * part};
}

template <typename T>
void FftSplit<T>::first(const FftLine<T>& line, int64_t column, T* middle, T* memory) const {
  const int64_t a = a_.n, b = b_.n, columns = std::min(kBlockColumns<T>, b - column);
  FftBlock<T> block = block_at(memory);
  if (line.im != nullptr) {
    fns_.load(a, columns, line.re + column, b, block.re);
    fns_.load(a, columns, line.im + column, b, block.im);
  } else {
    fns_.load_pairs(a, columns, line.re + 2 * column, 2 * b, block.re, block.im);
  }
  if (line.inverse) std::swap(block.re, block.im);
  fns_.transform(a_, block);
  fns_.turn(a, columns, turns_.re.data() + column, turns_.im.data() + column, b, block.re,
            block.im);
  fns_.store_lines(a, columns, 1, block.re, nullptr, middle + column * a, a);
  fns_.store_lines(a, columns, 1, block.im, nullptr, middle + n() + column * a, a);
}

template <typename T>
void FftSplit<T>::second(const FftLine<T>& line, int64_t column, const T* middle, T* memory) const {
  const int64_t a = a_.n, b = b_.n, columns = std::min(kBlockColumns<T>, a - column);
  FftBlock<T> block = block_at(memory);
  fns_.load(b, columns, middle + column, a, block.re);
  fns_.load(b, columns, middle + n() + column, a, block.im);
  fns_.transform(b_, block);
  if (line.inverse) std::swap(block.re, block.im);
  if (line.to_im != nullptr) {
    fns_.store(b, columns, line.scale, block.re, line.to_re + column, a);
    fns_.store(b, columns, line.scale, block.im, line.to_im + column, a);
  } else {
    fns_.store_pairs(b, columns, line.scale, block.re, block.im, line.to_re + 2 * column, 2 * a);
  }
}

template <typename T>
void FftSplit<T>::run(const FftLine<T>& line, T* middle, T* block) const {
  for (int64_t c = 0; c < b_.n; c += kBlockColumns<T>) first(line, c, middle, block);
  for (int64_t c = 0; c < a_.n; c += kBlockColumns<T>) second(line, c, middle, block);
}

template <typename T>
void FftSplit<T>::run_shared(const FftLine<T>& line, T* middle, T* blocks, int parts) const {
  auto share = [&](int64_t columns, const auto& step) {
    SharedRange range(columns, kBlockColumns<T>);
    in_parallel(parts, [&](int part) {
      for (int64_t from, to; range.take(from, to);) step(from, blocks + part * block_elements());
    });
  };
  share(b_.n, [&](int64_t c, T* block) { first(line, c, middle, block); });
  share(a_.n, [&](int64_t c, T* block) { second(line, c, middle, block); });
}

template class FftSplit<float>;
template class FftSplit<double>;

}  // namespace tuff::cpu
