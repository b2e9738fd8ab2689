#include "backend/cpu/fourier/fft_dimension.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "backend/cpu/thread_memory.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// Blocks of lines up to this length stay in the second cache.
constexpr int64_t kMaxShort = 1024;
// So many lines at least fill a block well enough.
constexpr int64_t kMinLines = 6;
// Columns of more rows are lines by themselves.
constexpr int64_t kMaxColumn = 4096;
// A line that is longer is worth several threads.
constexpr int64_t kMinShared = 1 << 14;

double flops_of(const FftLines& lines) {
  auto n = static_cast<double>(lines.n);
  return 5 * n * std::log2(n + 1) * static_cast<double>(lines.outer * lines.inner);
}

}  // namespace

template <typename T>
FftDimension<T>::FftDimension(const FftLines& lines, const FftFns<T>& fns)
    : lines_(lines), fns_(fns), way_(choose()) {
  scale_ = lines.inverse ? 1 / static_cast<T>(lines.n) : 1;
  if (way_ == Way::kColumns || way_ == Way::kShortLines) passes_ = make_fft_passes<T>(core());
  if (way_ == Way::kLongLines) split_.emplace(core(), fns);
  if (way_ == Way::kAnyLines && has_fft_passes(lines.n)) split_.emplace(lines.n, fns);
  if (way_ == Way::kAnyLines && !split_) prepare_convolution();
  for (int64_t k = 0; by_pairs() && 2 * k <= core(); ++k)
    unfolding_.add(std::complex<double>(0, -1) * std::conj(root_of_unity(k, lines.n)));
}

template <typename T>
typename FftDimension<T>::Way FftDimension<T>::choose() const {
  if (lines_.inner > 1)
    return has_fft_passes(lines_.n) && lines_.n <= kMaxColumn ? Way::kColumns : Way::kAnyLines;
  if (!has_fft_passes(core())) return Way::kAnyLines;
  if (core() <= kMaxShort && lines_.outer >= kMinLines) return Way::kShortLines;
  return is_real() && !by_pairs() ? Way::kAnyLines : Way::kLongLines;
}

// jk = (j^2 + k^2 - (k - j)^2) / 2: the sum over j is a convolution with a chirp.
template <typename T>
void FftDimension<T>::prepare_convolution() {
  const int64_t n = lines_.n, size = power_of_two_from(2 * n - 1);
  std::vector<std::complex<double>> kernel(static_cast<size_t>(size));
  for (int64_t j = 0; j < n; ++j) {
    const std::complex<double> turn = chirp(j, n);
    chirp_.add(std::conj(turn));
    kernel[static_cast<size_t>(j)] = kernel[static_cast<size_t>((size - j) % size)] = turn;
  }
  fourier_transform(kernel, false);
  for (const std::complex<double>& k : kernel) kernel_.add(k / static_cast<double>(size));
  split_.emplace(size, fns_);
}

template <typename T>
Status FftDimension<T>::run(const FftEnds<T>& ends) {
  const int threads = flops_of(lines_) < kMinParallelFlops ? 1 : max_threads();
  if (way_ == Way::kLongLines && lines_.outer < threads && core() >= kMinShared)
    return run_long_shared(ends, threads);
  const int64_t bytes = scratch_elements() * static_cast<int64_t>(sizeof(T));
  std::atomic<bool> failed = false;
  SharedRange range(items(), 1);
  in_parallel(static_cast<int>(std::min<int64_t>(threads, items())), [&](int) {
    auto* scratch = reinterpret_cast<T*>(thread_memory(static_cast<size_t>(bytes)));
    if (scratch == nullptr) failed = true;
    for (int64_t item, last; !failed && range.take(item, last);) run_item(item, ends, scratch);
  });
  if (failed) return no_memory_for_part(bytes);
  return {};
}

template <typename T>
int64_t FftDimension<T>::items() const {
  constexpr int64_t kWidth = kBlockColumns<T>;
  switch (way_) {
    case Way::kColumns: return lines_.outer * ((lines_.inner + kWidth - 1) / kWidth);
    case Way::kShortLines: return (lines_.outer + kWidth - 1) / kWidth;
    default: return lines_.outer * lines_.inner;
  }
}

template <typename T>
int64_t FftDimension<T>::scratch_elements() const {
  if (way_ == Way::kColumns || way_ == Way::kShortLines) return 4 * (core() + 1) * kBlockColumns<T>;
  // Two parts of a line, both aligned.
  return split_->block_elements() + split_->middle_elements() + 2 * (split_->n() + 1) +
         kBlockColumns<T>;
}

template <typename T>
void FftDimension<T>::run_item(int64_t item, const FftEnds<T>& ends, T* scratch) const {
  switch (way_) {
    case Way::kColumns: return columns(item, ends, scratch);
    case Way::kShortLines: return short_lines(item, ends, scratch);
    case Way::kAnyLines: return any_line(item, ends, scratch);
    case Way::kLongLines: break;
  }
  T* middle = scratch + split_->block_elements();
  long_line(item, ends, middle + split_->middle_elements(),
            [&](const FftLine<T>& line) { split_->run(line, middle, scratch); });
}

template <typename T>
Status FftDimension<T>::run_long_shared(const FftEnds<T>& ends, int parts) {
  const int64_t blocks = parts * split_->block_elements();
  const int64_t elements = blocks + split_->middle_elements() + 2 * (split_->n() + 1);
  const int64_t bytes = elements * static_cast<int64_t>(sizeof(T));
  if (shared_ == nullptr) shared_ = allocate_aligned(bytes);
  if (shared_ == nullptr) return no_memory_for_part(bytes);
  T *memory = reinterpret_cast<T*>(shared_.get()), *middle = memory + blocks;
  for (int64_t i = 0; i < lines_.outer; ++i)
    long_line(i, ends, middle + split_->middle_elements(),
              [&](const FftLine<T>& line) { split_->run_shared(line, middle, memory, parts); });
  return {};
}

template <typename T>
FftBlock<T> FftDimension<T>::block_at(T* scratch, int64_t rows) const {
  const int64_t part = rows * kBlockColumns<T>;
  return {scratch, scratch + part, scratch + 2 * part, scratch + 3 * part};
}

template <typename T>
void FftDimension<T>::columns(int64_t item, const FftEnds<T>& ends, T* scratch) const {
  const int64_t n = lines_.n, inner = lines_.inner, width = kBlockColumns<T>;
  const int64_t blocks = (inner + width - 1) / width, column = item % blocks * width;
  const int64_t from = item / blocks * n * inner + column, count = std::min(width, inner - column);
  FftBlock<T> block = block_at(scratch, core() + 1);
  fns_.load(n, count, ends.re + from, inner, block.re);
  fns_.load(n, count, ends.im + from, inner, block.im);
  if (lines_.inverse) std::swap(block.re, block.im);
  fns_.transform(passes_, block);
  if (lines_.inverse) std::swap(block.re, block.im);
  fns_.store(n, count, scale_, block.re, ends.to_re + from, inner);
  fns_.store(n, count, scale_, block.im, ends.to_im + from, inner);
}

template <typename T>
void FftDimension<T>::short_lines(int64_t item, const FftEnds<T>& ends, T* scratch) const {
  const int64_t first = item * kBlockColumns<T>;
  const int64_t count = std::min(kBlockColumns<T>, lines_.outer - first);
  FftEnds<T> own = ends;
  own.re += first * given();
  if (own.im != nullptr) own.im += first * given();
  own.to_re += first * wanted();
  if (own.to_im != nullptr) own.to_im += first * wanted();
  FftBlock<T> block = block_at(scratch, core() + 1);
  load_short(count, own, block);
  if (lines_.inverse) std::swap(block.re, block.im);
  fns_.transform(passes_, block);
  if (lines_.inverse) std::swap(block.re, block.im);
  store_short(count, own, block);
}

template <typename T>
void FftDimension<T>::load_short(int64_t count, const FftEnds<T>& ends, FftBlock<T>& block) const {
  const int64_t n = lines_.n, width = kBlockColumns<T>;
  if (lines_.kind == FftLines::Kind::kRealToHalf) {
    fns_.load_lines(n, count, ends.re, n, block.re, by_pairs() ? block.im : nullptr);
    if (!by_pairs()) std::fill_n(block.im, n * width, T{0});
    return;
  }
  fns_.load_lines(given(), count, ends.re, given(), block.re, nullptr);
  fns_.load_lines(given(), count, ends.im, given(), block.im, nullptr);
  if (lines_.kind == FftLines::Kind::kComplex) return;
  if (by_pairs()) return fns_.fold_rows(core(), unfolding_, block.re, block.im);
  std::fill_n(block.im, width, T{0});
  for (int64_t k = half(); k < n; ++k)
    for (int64_t c = 0; c < width; ++c) {
      block.re[k * width + c] = block.re[(n - k) * width + c];
      block.im[k * width + c] = -block.im[(n - k) * width + c];
    }
}

template <typename T>
void FftDimension<T>::store_short(int64_t count, const FftEnds<T>& ends,
                                  const FftBlock<T>& block) const {
  const int64_t n = lines_.n;
  if (lines_.kind == FftLines::Kind::kHalfToReal)
    return fns_.store_lines(n, count, scale_, block.re, by_pairs() ? block.im : nullptr, ends.to_re,
                            n);
  if (by_pairs()) fns_.unfold_rows(core(), unfolding_, block.re, block.im);
  fns_.store_lines(wanted(), count, scale_, block.re, nullptr, ends.to_re, wanted());
  fns_.store_lines(wanted(), count, scale_, block.im, nullptr, ends.to_im, wanted());
}

template <typename T>
template <typename Split>
void FftDimension<T>::long_line(int64_t item, const FftEnds<T>& ends, T* z,
                                const Split& split) const {
  FftLine<T> line;
  line.scale = scale_, line.inverse = lines_.inverse;
  line.re = ends.re + item * given(), line.to_re = ends.to_re + item * wanted();
  if (ends.im != nullptr) line.im = ends.im + item * given();
  if (ends.to_im != nullptr) line.to_im = ends.to_im + item * wanted();
  T *z_re = z, *z_im = z + core() + 1;
  if (lines_.kind == FftLines::Kind::kRealToHalf) {
    split({line.re, nullptr, z_re, z_im, 1, false});
    fns_.unfold_line(core(), unfolding_, z_re, z_im, line.to_re, line.to_im);
    return;
  }
  if (lines_.kind == FftLines::Kind::kHalfToReal) {
    fns_.fold_line(core(), unfolding_, line.re, line.im, z_re, z_im);
    line.re = z_re, line.im = z_im;
  }
  split(line);
}

// Element j of a line in two arrays.
template <typename T>
void FftDimension<T>::gather(int64_t item, const FftEnds<T>& ends, T* re, T* im) const {
  const int64_t n = lines_.n, inner = lines_.inner;
  const int64_t from = item / inner * given() * inner + item % inner;
  for (int64_t j = 0; j < given(); ++j) {
    re[j] = ends.re[from + j * inner];
    im[j] = ends.im != nullptr ? ends.im[from + j * inner] : 0;
  }
  if (lines_.kind != FftLines::Kind::kHalfToReal) return;
  // What would make the line complex does not count.
  im[0] = 0;
  if (n % 2 == 0) im[n / 2] = 0;
  for (int64_t k = half(); k < n; ++k) re[k] = re[n - k], im[k] = -im[n - k];
}

template <typename T>
void FftDimension<T>::any_line(int64_t item, const FftEnds<T>& ends, T* scratch) const {
  const int64_t n = lines_.n, inner = lines_.inner, size = split_->n();
  T* middle = scratch + split_->block_elements();
  T *re = middle + split_->middle_elements(), *im = re + size;
  gather(item, ends, re, im);
  if (lines_.inverse) std::swap(re, im);
  if (size == n) {
    split_->run({re, im, re, im, 1, false}, middle, scratch);
  } else {
    fns_.multiply(n, chirp_.re.data(), chirp_.im.data(), re, im);
    std::fill(re + n, re + size, T{0});
    std::fill(im + n, im + size, T{0});
    split_->run({re, im, re, im, 1, false}, middle, scratch);
    fns_.multiply(size, kernel_.re.data(), kernel_.im.data(), re, im);
    split_->run({re, im, re, im, 1, true}, middle, scratch);
    fns_.multiply(n, chirp_.re.data(), chirp_.im.data(), re, im);
  }
  if (lines_.inverse) std::swap(re, im);
  const int64_t to = item / inner * wanted() * inner + item % inner;
  for (int64_t k = 0; k < wanted(); ++k) {
    ends.to_re[to + k * inner] = re[k] * scale_;
    if (ends.to_im != nullptr) ends.to_im[to + k * inner] = im[k] * scale_;
  }
}

template class FftDimension<float>;
template class FftDimension<double>;

}  // namespace tuff::cpu
