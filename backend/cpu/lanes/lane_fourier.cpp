// The steps of fast Fourier transforms on blocks whose rows are cache lines. Compiled once per
// processor level.
#include <algorithm>
#include <utility>

#include "backend/cpu/fourier/fft_tables.h"
#include "backend/cpu/lanes/lane_lines.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/level.h"

namespace tuff::cpu {
namespace {

// A row, and the same in memory.
template <typename T>
struct RowOf;
template <>
struct RowOf<float> {
  using Value = float __attribute__((vector_size(64)));
  using Memory = float __attribute__((vector_size(64), may_alias));
};
template <>
struct RowOf<double> {
  using Value = double __attribute__((vector_size(64)));
  using Memory = double __attribute__((vector_size(64), may_alias));
};
template <typename T>
using Row = typename RowOf<T>::Value;

template <typename T>
TUFF_INLINE auto& row(T* block, int64_t r) {
  return *reinterpret_cast<typename RowOf<T>::Memory*>(block + r * kBlockColumns<T>);
}
template <typename T>
TUFF_INLINE const auto& row(const T* block, int64_t r) {
  return *reinterpret_cast<const typename RowOf<T>::Memory*>(block + r * kBlockColumns<T>);
}

// A row of complex numbers.
template <typename V>
struct Pair {
  V re, im;
};
template <typename V>
TUFF_INLINE Pair<V> operator+(const Pair<V>& a, const Pair<V>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename V>
TUFF_INLINE Pair<V> operator-(const Pair<V>& a, const Pair<V>& b) {
  return {a.re - b.re, a.im - b.im};
}
// a - i b and a + i b.
template <typename V>
TUFF_INLINE Pair<V> minus_i(const Pair<V>& a, const Pair<V>& b) {
  return {a.re + b.im, a.im - b.re};
}
template <typename V>
TUFF_INLINE Pair<V> plus_i(const Pair<V>& a, const Pair<V>& b) {
  return {a.re - b.im, a.im + b.re};
}
template <typename V, typename T>
TUFF_INLINE Pair<V> scaled(const Pair<V>& a, T by) {
  return {a.re * by, a.im * by};
}
template <typename V, typename T>
TUFF_INLINE Pair<V> times(const Pair<V>& a, T re, T im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}

// x becomes its transform.
template <int kRadix>
struct Butterfly;

template <>
struct Butterfly<2> {
  template <typename T, typename V>
  static TUFF_INLINE void apply(Pair<V>* x) {
    Pair<V> sum = x[0] + x[1];
    x[1] = x[0] - x[1];
    x[0] = sum;
  }
};

template <>
struct Butterfly<3> {
  template <typename T, typename V>
  static TUFF_INLINE void apply(Pair<V>* x) {
    constexpr auto kSine = static_cast<T>(0.86602540378443864676);  // sin(pi / 3)
    Pair<V> sum = x[1] + x[2], turned = scaled(x[1] - x[2], kSine);
    Pair<V> middle = x[0] - scaled(sum, static_cast<T>(0.5));
    x[0] = x[0] + sum;
    x[1] = minus_i(middle, turned);
    x[2] = plus_i(middle, turned);
  }
};

template <>
struct Butterfly<4> {
  template <typename T, typename V>
  static TUFF_INLINE void apply(Pair<V>* x) {
    Pair<V> even = x[0] + x[2], even_less = x[0] - x[2];
    Pair<V> odd = x[1] + x[3], odd_less = x[1] - x[3];
    x[0] = even + odd;
    x[1] = minus_i(even_less, odd_less);
    x[2] = even - odd;
    x[3] = plus_i(even_less, odd_less);
  }
};

template <>
struct Butterfly<5> {
  template <typename T, typename V>
  static TUFF_INLINE void apply(Pair<V>* x) {
    // Cosines and sines of 2 pi / 5 and 4 pi / 5.
    constexpr auto kC1 = static_cast<T>(0.30901699437494742410);
    constexpr auto kC2 = static_cast<T>(-0.80901699437494742410);
    constexpr auto kS1 = static_cast<T>(0.95105651629515357212);
    constexpr auto kS2 = static_cast<T>(0.58778525229247312917);
    Pair<V> sum1 = x[1] + x[4], less1 = x[1] - x[4], sum2 = x[2] + x[3], less2 = x[2] - x[3];
    Pair<V> near = x[0] + scaled(sum1, kC1) + scaled(sum2, kC2);
    Pair<V> far = x[0] + scaled(sum1, kC2) + scaled(sum2, kC1);
    Pair<V> near_turned = scaled(less1, kS1) + scaled(less2, kS2);
    Pair<V> far_turned = scaled(less1, kS2) - scaled(less2, kS1);
    x[0] = x[0] + sum1 + sum2;
    x[1] = minus_i(near, near_turned);
    x[4] = plus_i(near, near_turned);
    x[2] = minus_i(far, far_turned);
    x[3] = plus_i(far, far_turned);
  }
};

template <>
struct Butterfly<8> {
  template <typename T, typename V>
  static TUFF_INLINE void apply(Pair<V>* x) {
    constexpr auto kHalf = static_cast<T>(0.70710678118654752440);  // sqrt(1 / 2)
    Pair<V> even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
    Butterfly<4>::apply<T>(even);
    Butterfly<4>::apply<T>(odd);
    odd[1] = scaled(minus_i(odd[1], odd[1]), kHalf);
    odd[3] = scaled(plus_i(odd[3], odd[3]), -kHalf);
    x[0] = even[0] + odd[0];
    x[4] = even[0] - odd[0];
    x[1] = even[1] + odd[1];
    x[5] = even[1] - odd[1];
    x[2] = minus_i(even[2], odd[2]);
    x[6] = plus_i(even[2], odd[2]);
    x[3] = even[3] + odd[3];
    x[7] = even[3] - odd[3];
  }
};

// Null where there are none: all are 1.
template <typename T>
TUFF_INLINE const T* turns_of(const FftPass<T>& pass, int64_t p) {
  return p == 0 ? nullptr : pass.turns.data() + (p - 1) * 2 * (pass.radix - 1);
}

template <int kRadix, typename T>
void known_pass(const FftPass<T>& pass, const FftBlock<T>& block) {
  for (int64_t p = 0; p < pass.count; ++p) {
    const T* turns = turns_of(pass, p);
    for (int64_t q = 0; q < pass.stride; ++q) {
      Pair<Row<T>> x[kRadix];
      for (int k = 0; k < kRadix; ++k) {
        const int64_t from = q + pass.stride * (p + pass.count * k);
        x[k] = {row(block.re, from), row(block.im, from)};
      }
      Butterfly<kRadix>::template apply<T>(x);
      for (int j = 0; j < kRadix; ++j) {
        const int64_t to = q + pass.stride * (kRadix * p + j);
        if (p > 0 && j > 0) x[j] = times(x[j], turns[2 * j - 2], turns[2 * j - 1]);
        row(block.other_re, to) = x[j].re;
        row(block.other_im, to) = x[j].im;
      }
    }
  }
}

// By its definition. Elements k and radix - k share their products.
template <typename T>
void any_pass(const FftPass<T>& pass, const FftBlock<T>& block) {
  const auto radix = static_cast<int>(pass.radix);
  for (int64_t p = 0; p < pass.count; ++p) {
    const T* turns = turns_of(pass, p);
    for (int64_t q = 0; q < pass.stride; ++q) {
      Pair<Row<T>> sums[kMaxRadix], less[kMaxRadix];
      auto at = [&](int k) {
        const int64_t from = q + pass.stride * (p + pass.count * k);
        return Pair<Row<T>>{row(block.re, from), row(block.im, from)};
      };
      const Pair<Row<T>> first = at(0);
      Pair<Row<T>> all = first;
      for (int k = 1; k <= radix / 2; ++k) {
        sums[k] = at(k) + at(radix - k);
        less[k] = at(k) - at(radix - k);
        all = all + sums[k];
      }
      auto put = [&](int j, Pair<Row<T>> x) {
        if (p > 0 && j > 0) x = times(x, turns[2 * j - 2], turns[2 * j - 1]);
        const int64_t to = q + pass.stride * (radix * p + j);
        row(block.other_re, to) = x.re;
        row(block.other_im, to) = x.im;
      };
      put(0, all);
      for (int j = 1; j <= radix / 2; ++j) {
        Pair<Row<T>> straight = first, turned{};
        for (int k = 1; k <= radix / 2; ++k) {
          const T* root = pass.roots.data() + 2 * (j * k % radix);
          straight = straight + scaled(sums[k], root[0]);
          turned = turned + scaled(less[k], -root[1]);
        }
        put(j, minus_i(straight, turned));
        put(radix - j, plus_i(straight, turned));
      }
    }
  }
}

template <typename T>
void transform(const FftPasses<T>& passes, FftBlock<T>& block) {
  for (const FftPass<T>& pass : passes.passes) {
    switch (pass.radix) {
      case 2: known_pass<2>(pass, block); break;
      case 3: known_pass<3>(pass, block); break;
      case 4: known_pass<4>(pass, block); break;
      case 5: known_pass<5>(pass, block); break;
      case 8: known_pass<8>(pass, block); break;
      default: any_pass(pass, block);
    }
    std::swap(block.re, block.other_re);
    std::swap(block.im, block.other_im);
  }
}

template <typename T>
void load(int64_t rows, int64_t columns, const T* from, int64_t stride, T* block) {
  for (int64_t r = 0; r < rows; ++r, from += stride) {
    Row<T> value{};
    if (columns == kBlockColumns<T>)
      std::memcpy(&value, from, sizeof value);
    else
      std::memcpy(&value, from, static_cast<size_t>(columns) * sizeof(T));
    row(block, r) = value;
  }
}

template <typename T>
void store(int64_t rows, int64_t columns, T scale, const T* block, T* to, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r, to += stride) {
    const Row<T> value = row(block, r) * scale;
    if (columns == kBlockColumns<T>)
      std::memcpy(to, &value, sizeof value);
    else
      std::memcpy(to, &value, static_cast<size_t>(columns) * sizeof(T));
  }
}

template <typename T>
void load_pairs(int64_t rows, int64_t columns, const T* from, int64_t stride, T* even, T* odd) {
  for (int64_t r = 0; r < rows; ++r, from += stride) {
    T both[2 * kBlockColumns<T>] = {};
    std::memcpy(both, from, static_cast<size_t>(2 * columns) * sizeof(T));
    T *e = even + r * kBlockColumns<T>, *o = odd + r * kBlockColumns<T>;
    for (int64_t c = 0; c < kBlockColumns<T>; ++c) e[c] = both[2 * c], o[c] = both[2 * c + 1];
  }
}

template <typename T>
void store_pairs(int64_t rows, int64_t columns, T scale, const T* even, const T* odd, T* to,
                 int64_t stride) {
  for (int64_t r = 0; r < rows; ++r, to += stride) {
    T both[2 * kBlockColumns<T>];
    const T *e = even + r * kBlockColumns<T>, *o = odd + r * kBlockColumns<T>;
    for (int64_t c = 0; c < kBlockColumns<T>; ++c)
      both[2 * c] = e[c] * scale, both[2 * c + 1] = o[c] * scale;
    std::memcpy(to, both, static_cast<size_t>(2 * columns) * sizeof(T));
  }
}

template <typename T>
void turn(int64_t rows, int64_t columns, const T* turn_re, const T* turn_im, int64_t stride, T* re,
          T* im) {
  for (int64_t r = 0; r < rows; ++r, turn_re += stride, turn_im += stride) {
    Row<T> a{}, b{};
    const size_t bytes =
        columns == kBlockColumns<T> ? sizeof a : static_cast<size_t>(columns) * sizeof(T);
    std::memcpy(&a, turn_re, bytes);
    std::memcpy(&b, turn_im, bytes);
    const Row<T> x = row(re, r), y = row(im, r);
    row(re, r) = x * a - y * b;
    row(im, r) = x * b + y * a;
  }
}

template <typename T>
void multiply(int64_t n, const T* turn_re, const T* turn_im, T* re, T* im) {
  for (int64_t i = 0; i < n; ++i) {
    const T x = re[i], y = im[i];
    re[i] = x * turn_re[i] - y * turn_im[i];
    im[i] = x * turn_im[i] + y * turn_re[i];
  }
}

// Elements k and m - k of the transform of 2 m real numbers. With E and D the half of the sum and
// of the difference of z[k] and the conjugate of z[m - k], and t the turn: E + t D, and the
// conjugate of E - t D.
template <typename T, typename V>
TUFF_INLINE void unfold(const Pair<V>& a, const Pair<V>& b, T turn_re, T turn_im, Pair<V>& low,
                        Pair<V>& high) {
  constexpr auto kHalf = static_cast<T>(0.5);
  const Pair<V> sum = scaled(Pair<V>{a.re + b.re, a.im - b.im}, kHalf);
  const Pair<V> less = scaled(Pair<V>{a.re - b.re, a.im + b.im}, kHalf);
  const Pair<V> turned = times(less, turn_re, turn_im);
  low = sum + turned;
  high = {sum.re - turned.re, turned.im - sum.im};
}

// z[k] and z[m - k], twice, from elements k and m - k of the transform.
template <typename T, typename V>
TUFF_INLINE void fold(const Pair<V>& a, const Pair<V>& b, T turn_re, T turn_im, Pair<V>& low,
                      Pair<V>& high) {
  const Pair<V> sum{a.re + b.re, a.im - b.im};
  const Pair<V> less = times(Pair<V>{a.re - b.re, a.im + b.im}, turn_re, -turn_im);
  low = sum + less;
  high = {sum.re - less.re, less.im - sum.im};
}

// Rows k and m - k by change(a, b, turn, low, high), in place.
template <typename T, typename Change>
TUFF_INLINE void change_rows(int64_t m, const FftTurns<T>& turns, T* re, T* im,
                             const Change& change) {
  for (int64_t k = 1; 2 * k <= m; ++k) {
    Pair<Row<T>> low, high;
    change(Pair<Row<T>>{row(re, k), row(im, k)}, Pair<Row<T>>{row(re, m - k), row(im, m - k)},
           turns.re[static_cast<size_t>(k)], turns.im[static_cast<size_t>(k)], low, high);
    row(re, m - k) = high.re, row(im, m - k) = high.im;
    row(re, k) = low.re, row(im, k) = low.im;
  }
}

template <typename T>
void unfold_rows(int64_t m, const FftTurns<T>& turns, T* re, T* im) {
  const Row<T> x = row(re, 0), y = row(im, 0);
  row(re, 0) = x + y;
  row(re, m) = x - y;
  row(im, 0) = row(im, m) = Row<T>{};
  change_rows(m, turns, re, im, [](auto&&... all) { unfold(all...); });
}

template <typename T>
void fold_rows(int64_t m, const FftTurns<T>& turns, T* re, T* im) {
  const Row<T> x = row(re, 0), y = row(re, m);
  row(re, 0) = x + y;
  row(im, 0) = x - y;
  change_rows(m, turns, re, im, [](auto&&... all) { fold(all...); });
}

// The same of elements of a line, from one to another.
template <typename T, typename Change>
TUFF_INLINE void change_line(int64_t m, const FftTurns<T>& turns, const T* re, const T* im,
                             T* to_re, T* to_im, const Change& change) {
  const T *turn_re = turns.re.data(), *turn_im = turns.im.data();
#pragma omp simd
  for (int64_t k = 1; k < m / 2 + 1; ++k) {
    Pair<T> low, high;
    change(Pair<T>{re[k], im[k]}, Pair<T>{re[m - k], im[m - k]}, turn_re[k], turn_im[k], low, high);
    to_re[m - k] = high.re, to_im[m - k] = high.im;
    to_re[k] = low.re, to_im[k] = low.im;
  }
}

template <typename T>
void unfold_line(int64_t m, const FftTurns<T>& turns, const T* re, const T* im, T* to_re,
                 T* to_im) {
  to_re[0] = re[0] + im[0];
  to_re[m] = re[0] - im[0];
  to_im[0] = to_im[m] = 0;
  change_line(m, turns, re, im, to_re, to_im, [](auto&&... all) { unfold(all...); });
}

template <typename T>
void fold_line(int64_t m, const FftTurns<T>& turns, const T* re, const T* im, T* to_re, T* to_im) {
  to_re[0] = re[0] + re[m];
  to_im[0] = re[0] - re[m];
  change_line(m, turns, re, im, to_re, to_im, [](auto&&... all) { fold(all...); });
}

template <typename T>
FftFns<T> fft_fns() {
  return {transform<T>,  load<T>,        store<T>,    load_lines<T>, store_lines<T>,
          load_pairs<T>, store_pairs<T>, turn<T>,     multiply<T>,   unfold_rows<T>,
          fold_rows<T>,  unfold_line<T>, fold_line<T>};
}

}  // namespace

void TUFF_LEVEL_FN(fill_fourier_lanes)(LaneTable& table) {
  table.fft_f32 = fft_fns<float>();
  table.fft_f64 = fft_fns<double>();
}

}  // namespace tuff::cpu
