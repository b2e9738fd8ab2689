// Fourier transforms, windows and what goes with them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/onnx/file/dtypes.h"
#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

struct Complex {
  Tensor re, im;
};

// The transform of the last dimension.
Complex transformed(const Complex& x, FftType type, int64_t length) {
  Emitter& emitter = x.re.emitter();
  std::vector<Value> results = emitter.add(Op::kFft, {x.re.value(), x.im.value()},
                                           {x.re.type(), x.re.type()}, FftAttrs{type, {length}});
  return {Tensor(emitter, results[0]), Tensor(emitter, results[1])};
}

// The dimension cut or filled with zeros to a length.
Tensor with_length(const Tensor& x, int64_t dim, int64_t length) {
  Ints low(x.shape().size(), 0), high = low;
  high[static_cast<size_t>(x.axis(dim))] = length - x.dim(dim);
  return x.pad(std::move(low), std::move(high));
}

Tensor moved_last(const Tensor& x, int64_t axis) {
  Ints permutation = range(0, x.rank());
  permutation.erase(permutation.begin() + axis);
  permutation.push_back(axis);
  return x.transpose(std::move(permutation));
}
Tensor moved_back(const Tensor& x, int64_t axis) {
  Ints permutation = range(0, x.rank() - 1);
  permutation.insert(permutation.begin() + axis, x.rank() - 1);
  return x.transpose(std::move(permutation));
}

// The parts of a tensor whose last dimension has them; none is zeros.
Complex parts_of(const Tensor& x) {
  Tensor re = x.slice(-1, 0, 1).squeeze({-1});
  if (x.dim(-1) == 2) return {re, x.slice(-1, 1, 2).squeeze({-1})};
  if (x.dim(-1) != 1) refuse_input("The last dimension must be 1 (real) or 2 (complex).");
  return {re, re.like(0)};
}

Tensor joined(const Complex& x) {
  return concatenate({x.re.unsqueeze({x.re.rank()}), x.im.unsqueeze({x.im.rank()})}, x.re.rank());
}

// The half that a real signal's transform has not is the other one's conjugate, from its end on.
Complex mirrored(const Complex& x, int64_t length) {
  int64_t rest = length - x.re.dim(-1), last = x.re.rank() - 1;
  if (rest <= 0) return {with_length(x.re, -1, length), with_length(x.im, -1, length)};
  int64_t from = (length - 1) / 2;  // the last one that has a mirror image
  auto tail = [&](const Tensor& t) {
    return t.slice(-1, from - rest + 1, from + 1).reverse({last});
  };
  return {concatenate({x.re, tail(x.re)}, last), concatenate({x.im, -tail(x.im)}, last)};
}

Items dft(const Call& call) {
  Tensor x = call.need(0), wide = x.wide();
  bool inverse = call.flag("inverse"), onesided = call.flag("onesided");
  int64_t axis = call.opset >= 20 ? (call.in(2) ? call.known_int(2) : -2) : call.i("axis", 1);
  axis = x.axis(axis);
  if (axis == x.rank() - 1) refuse_input("The axis is that of the complex parts.");
  int64_t length = inverse && onesided ? 2 * (x.dim(axis) - 1) : x.dim(axis);
  if (call.in(1)) length = call.known_int(1);
  constexpr int64_t kMaxLength = int64_t{1} << 24;
  if (length < 1 || length > kMaxLength)
    refuse_input("The length of the transform is not possible.");
  Complex signal = parts_of(wide);
  signal = {moved_last(signal.re, axis), moved_last(signal.im, axis)};
  int64_t half = length / 2 + 1;
  if (inverse && onesided)
    signal = mirrored({with_length(signal.re, -1, half), with_length(signal.im, -1, half)}, length);
  else
    signal = {with_length(signal.re, -1, length), with_length(signal.im, -1, length)};
  Complex y = transformed(signal, inverse ? FftType::kIfft : FftType::kFft, length);
  if (onesided && !inverse) y = {y.re.slice(-1, 0, half), y.im.slice(-1, 0, half)};
  y = {moved_back(y.re, axis), moved_back(y.im, axis)};
  if (onesided && inverse) return {y.re.unsqueeze({y.re.rank()}).convert(x.dtype())};
  return {joined(y).convert(x.dtype())};
}

Items stft(const Call& call) {
  Tensor x = call.need(0), window = call.in(2);
  if (x.rank() == 2) x = x.unsqueeze({2});
  int64_t step = call.known_int(1), length = x.dim(1);
  if (call.in(3)) {
    length = call.known_int(3);
  } else if (window) {
    length = window.dim(0);
  }
  if (step < 1 || length < 1 || length > x.dim(1))
    refuse_input("Steps and frames do not fit the signal.");
  int64_t frames = (x.dim(1) - length) / step + 1;
  Ints places;
  for (int64_t f = 0; f < frames; ++f)
    for (int64_t i = 0; i < length; ++i) places.push_back(f * step + i);
  Complex signal = parts_of(x.wide());
  auto framed = [&](const Tensor& t) {
    Tensor frame = t.take(t.ints(places, DType::kI32), 1).reshape({x.dim(0), frames, length});
    return window ? frame * window.wide() : frame;
  };
  Complex y = transformed({framed(signal.re), framed(signal.im)}, FftType::kFft, length);
  if (call.flag("onesided", true)) {
    int64_t half = length / 2 + 1;
    y = {y.re.slice(-1, 0, half), y.im.slice(-1, 0, half)};
  }
  return {joined(y).convert(x.dtype())};
}

// a - b * cos(2 pi i / n) + c * cos(4 pi i / n)
Items window_of(const Call& call, double a, double b, double c) {
  int64_t size = call.known_int(0);
  constexpr int64_t kMaxSize = int64_t{1} << 24;
  if (size < 0 || size > kMaxSize) refuse_input("The size of the window is not possible.");
  auto n = static_cast<double>(call.flag("periodic", true) ? size : size - 1);
  std::vector<double> list;
  for (int64_t i = 0; i < size; ++i) {
    double turn = 2 * M_PI * static_cast<double>(i) / n;
    list.push_back(a - b * std::cos(turn) + c * std::cos(2 * turn));
  }
  return {
      call.constant(Literal::from_doubles(dtype_of(call.i("output_datatype", 1)), {size}, list))};
}
Items hann(const Call& call) { return window_of(call, 0.5, 0.5, 0); }
Items hamming(const Call& call) { return window_of(call, 25.0 / 46, 21.0 / 46, 0); }
Items blackman(const Call& call) { return window_of(call, 0.42, 0.5, 0.08); }

// Triangles of the mel scale over the bins of a spectrum.
Items mel_weights(const Call& call) {
  int64_t mel_bins = call.known_int(0), length = call.known_int(1);
  double rate = call.known_double(2), low = call.known_double(3), high = call.known_double(4);
  constexpr int64_t kMaxSize = 1 << 20, kMaxElements = 1 << 24, kMaxEdge = 1 << 30;
  if (mel_bins < 1 || length < 1 || mel_bins > kMaxSize || length > kMaxSize)
    refuse_input("The sizes of the matrix are not possible.");
  auto mel = [](double f) { return 2595 * std::log10(1 + f / 700); };
  int64_t bins = length / 2 + 1;
  if (bins * mel_bins > kMaxElements) refuse_input("The matrix is too large.");
  std::vector<int64_t> edges;
  double mel_low = mel(low), mel_step = (mel(high) - mel_low) / static_cast<double>(mel_bins + 2);
  for (int64_t i = 0; i < mel_bins + 2; ++i) {
    double f = 700 * (std::pow(10, (static_cast<double>(i) * mel_step + mel_low) / 2595) - 1);
    double edge = std::floor(static_cast<double>(length + 1) * f / rate);
    if (!(std::fabs(edge) <= kMaxEdge)) refuse_input("The frequencies do not fit the sample rate.");
    edges.push_back(static_cast<int64_t>(edge));
  }
  std::vector<double> matrix(static_cast<size_t>(bins * mel_bins), 0);
  auto put = [&](int64_t bin, int64_t m, double value) {
    if (bin >= 0 && bin < bins) matrix[static_cast<size_t>(bin * mel_bins + m)] = value;
  };
  for (int64_t m = 0; m < mel_bins; ++m) {
    int64_t left = edges[static_cast<size_t>(m)], top = edges[static_cast<size_t>(m) + 1],
            right = edges[static_cast<size_t>(m) + 2];
    if (left == top) put(top, m, 1);
    for (int64_t j = std::max<int64_t>(left, 0); left != top && j <= std::min(top, bins); ++j)
      put(j, m, static_cast<double>(j - left) / static_cast<double>(top - left));
    for (int64_t j = std::max<int64_t>(top, 0); right != top && j < std::min(right, bins); ++j)
      put(j, m, static_cast<double>(right - j) / static_cast<double>(right - top));
  }
  return {call.constant(
      Literal::from_doubles(dtype_of(call.i("output_datatype", 1)), {bins, mel_bins}, matrix))};
}

constexpr OpRow kSignalRows[] = {
    {"BlackmanWindow", blackman},     {"DFT", dft},
    {"HammingWindow", hamming},       {"HannWindow", hann},
    {"MelWeightMatrix", mel_weights}, {"STFT", stft},
};

}  // namespace

std::span<const OpRow> signal_ops() { return kSignalRows; }

}  // namespace tuff::onnx
