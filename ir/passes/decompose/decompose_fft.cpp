// fft as products with small matrices: of short lines, and for devices without library calls.
//
// A line of n = f * r numbers, at r * i + j, is transformed as Cooley and Tukey do: over i, which
// is a product with a matrix of f^2 roots of unity; then element (k, j) is turned by a root of
// its own; then over j, where the same begins anew. So every factor of n costs a matmul and an
// elementwise operation, which both devices have. Lengths with a large prime factor become a
// convolution (Bluestein), which is two transforms of a power of two.
//
// The real and the imaginary parts lie side by side: one product computes both.
#include <algorithm>
#include <complex>

#include "ir/ops/fourier.h"
#include "ir/passes/decompose/decompose_rules.h"

namespace tuff::decomposition {

namespace {

using Ints = std::vector<int64_t>;
using Complex = std::complex<double>;

// A matmul by a matrix of that size is still near the memory's speed.
constexpr int64_t kFactor = 64;
// A prime up to this is a factor by itself: its matrix costs less than a convolution.
constexpr int64_t kPrimeFactor = 256;

// Few factors of n and those alike; none where a prime is too large.
std::optional<Ints> factors_of(int64_t n) {
  Ints primes;  // descending
  for (int64_t p = 2; n > 1; ++p) {
    if (p * p > n) p = n;
    for (; n % p == 0; n /= p) primes.insert(primes.begin(), p);
  }
  if (!primes.empty() && primes[0] > kPrimeFactor) return std::nullopt;
  for (size_t count = 1; count <= primes.size(); ++count) {
    Ints factors(count, 1);
    for (int64_t p : primes) *std::min_element(factors.begin(), factors.end()) *= p;
    bool small = std::all_of(factors.begin(), factors.end(), [&](int64_t f) {
      return f <= kFactor || std::find(primes.begin(), primes.end(), f) != primes.end();
    });
    if (small) return factors;
  }
  return primes;
}

int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Complex numbers; without an imaginary part, real ones.
struct Pair {
  Value re;
  std::optional<Value> im = std::nullopt;
};

// A transform of the middle dimension of [outer, given, inner].
struct LineTransform {
  int64_t n = 1;
  bool inverse = false;
  double scale = 1;
  int64_t given = 1;   // what follows in the line is 0
  int64_t wanted = 1;  // the first elements of the result
  bool imaginary = true;

  Complex root(int64_t k, int64_t of) const {
    return inverse ? root_of_unity(k, of) : std::conj(root_of_unity(k, of));
  }
  Complex turn(int64_t k) const { return inverse ? chirp(k, n) : std::conj(chirp(k, n)); }
};

class Fourier {
 public:
  explicit Fourier(const RewriteSite& site) : site_(site), dtype_(site.operand_type(0).dtype) {}

  std::vector<Value> run() {
    FftForm form = fft_form(site_.node);
    std::vector<Value> results;
    if (site_.node.types[0].num_elements() == 0) {
      for (const TensorType& type : site_.node.types) results.push_back(site_.splat(type, 0));
      return results;
    }
    Pair x{site_.node.operands[0]};
    if (!form.real_input) x.im = imaginary_part(site_.node.operands[1]);
    size_t rank = site_.node.types[0].shape.size(), first = rank - form.length.size();
    // The last dimension has the half spectrum: made first, completed last.
    if (!form.real_result) x = along(x, rank - 1, form);
    for (size_t d = first; d + 1 < rank; ++d) x = along(x, d, form);
    if (form.real_result) x = along(x, rank - 1, form);
    results.push_back(x.re);
    if (!form.real_result) results.push_back(x.im ? *x.im : zeros(x.re));
    return results;
  }

 private:
  // Nothing where it is 0 everywhere: the transform of a real tensor.
  std::optional<Value> imaginary_part(Value im) const {
    const Literal* all = splat_value(site_.out, im);
    return all && all->get_double(0) == 0 ? std::nullopt : std::optional(im);
  }
  Value zeros(Value like) const { return site_.splat(type(like), 0); }
  const TensorType& type(Value v) const { return site_.out.type(v); }
  TensorType of(Shape shape) const { return {dtype_, std::move(shape)}; }

  Value binary(Op op, Value a, Value b) const { return site_.add(op, {a, b}, type(a)); }
  Value numbers(Shape shape, std::vector<double> values) const {
    for (double& value : values) value += 0.0;  // -0 becomes 0
    Literal literal = Literal::from_doubles(dtype_, std::move(shape), values);
    if (literal.is_splat()) return site_.splat(literal.type(), literal.get_double(0));
    return site_.constant(std::move(literal));
  }
  // The numbers for every element of `like`, whose dimensions `dims` they go along.
  Value spread_numbers(Value like, Ints dims, Shape shape,
                       const std::vector<double>& values) const {
    return broadcast(site_, numbers(std::move(shape), values), type(like).shape, std::move(dims));
  }
  Value transpose(Value v, Ints permutation) const {
    if (std::is_sorted(permutation.begin(), permutation.end())) return v;
    Shape shape;
    for (int64_t d : permutation) shape.push_back(type(v).shape[static_cast<size_t>(d)]);
    return site_.add(Op::kTranspose, {v}, of(std::move(shape)),
                     TransposeAttrs{std::move(permutation)});
  }
  // The middle one of three dimensions, with `low` zeros before it, and after it up to `size`.
  Value pad(Value v, int64_t low, int64_t size) const {
    Shape shape = type(v).shape;
    if (shape[1] == size) return v;
    PadAttrs attrs{{0, low, 0}, {0, size - shape[1] - low, 0}, {0, 0, 0}};
    shape[1] = size;
    Value zero = site_.constant(Literal::scalar(dtype_, 0));
    return site_.add(Op::kPad, {v, zero}, of(std::move(shape)), std::move(attrs));
  }
  template <typename Change>
  static Pair each(const Pair& x, const Change& change) {
    return {change(x.re), x.im ? std::optional(change(*x.im)) : std::nullopt};
  }

  // Transforms one dimension of the tensor.
  Pair along(const Pair& x, size_t dimension, const FftForm& form) const {
    Shape shape = type(x.re).shape;
    bool last = dimension + 1 == shape.size();
    LineTransform t;
    t.n = form.length[form.length.size() - (shape.size() - dimension)];
    t.inverse = form.inverse;
    t.scale = form.inverse ? 1 / static_cast<double>(t.n) : 1;
    t.given = shape[dimension];
    t.wanted = form.real_input && last ? half_spectrum(t.n) : t.n;
    t.imaginary = !(form.real_result && last);
    int64_t inner = 1;
    for (size_t d = dimension + 1; d < shape.size(); ++d) inner *= shape[d];
    Shape flat = {num_elements(shape) / (inner * t.given), t.given, inner};
    Pair y = each(x, [&](Value v) { return reshape(site_, v, flat); });
    if (!t.imaginary) y = weigh_half(y, t);
    y = transform(y, t);
    shape[dimension] = t.wanted;
    return each(y, [&](Value v) { return reshape(site_, v, shape); });
  }

  // The real part of a sum over a whole spectrum from half of it: what stands for two counts
  // twice. The first element stands for itself, as the middle one; their imaginary parts would
  // make the line complex, and do not count.
  Pair weigh_half(const Pair& x, const LineTransform& t) const {
    int64_t end = t.n % 2 == 0 ? t.given - 1 : t.given;
    std::vector<double> weights(static_cast<size_t>(t.given), 1.0);
    for (int64_t k = 1; k < end; ++k) weights[static_cast<size_t>(k)] = 2;
    Pair y{binary(Op::kMultiply, x.re, spread_numbers(x.re, {1}, {t.given}, weights))};
    if (!x.im || end <= 1) return y;
    Value im = slice(site_, *x.im, 1, 1, end);
    im = binary(Op::kMultiply, im, site_.splat(type(im), 2));
    y.im = pad(im, 1, t.given);
    return y;
  }

  Pair transform(const Pair& x, const LineTransform& t) const {
    if (t.n == 1) return t.imaginary ? x : Pair{x.re};
    auto factors = factors_of(t.n);
    return factors ? by_factors(x, t, *factors) : by_convolution(x, t);
  }

  // What one factor does: rows and columns of its matrix, and what is left of the line.
  struct Stage {
    int64_t factor, rest, rows, columns;
    int64_t parts;  // of the result: 2, or 1 where only the real one is wanted
    bool last;
  };

  Pair by_factors(const Pair& x, const LineTransform& t, const Ints& factors) const {
    int64_t batch = type(x.re).shape[0], inner = type(x.re).shape[2], rest = t.n;
    Value y;  // [batch, column, part, rest, inner]
    for (size_t i = 0; i < factors.size(); ++i) {
      int64_t f = factors[i];
      Stage s{f, rest /= f, f, f, 2, i + 1 == factors.size()};
      if (i == 0) s.rows = quotient_up(t.given, s.rest);
      if (s.last) s.columns = quotient_up(t.wanted, t.n / f);
      if (s.last && !t.imaginary) s.parts = 1;
      Shape read = {batch, i == 0 ? s.rows : 2 * f, s.rest * inner};
      if (i == 0)
        y = first_product(x, read, s, t);
      else
        y = product(reshape(site_, y, read), 0, 2, s, t);
      y = in_order(y, batch, inner, s);
      if (!s.last) y = turned(y, s, t);
      batch *= s.columns;
    }
    return finish(y, t, factors, type(x.re).shape[0], inner);
  }

  // The real and the imaginary part still are two tensors: the sum of a product with each.
  Value first_product(const Pair& x, const Shape& read, const Stage& s,
                      const LineTransform& t) const {
    Pair lines = each(x, [&](Value v) { return reshape(site_, pad(v, 0, s.rows * s.rest), read); });
    Value y = product(lines.re, 0, 1, s, t);
    return lines.im ? binary(Op::kAdd, y, product(*lines.im, 1, 1, s, t)) : y;
  }

  // x [batch, (part, row), columns of x], of which it has the parts [first, first + count), by
  // the stage's matrix: [part, column, batch, columns of x], or [batch, part, column] where x
  // has but one column.
  Value product(Value x, int64_t first, int64_t count, const Stage& s,
                const LineTransform& t) const {
    std::vector<double> entries;
    for (int64_t part = 0; part < s.parts; ++part)
      for (int64_t k = 0; k < s.columns; ++k)
        for (int64_t from = first; from < first + count; ++from)
          for (int64_t j = 0; j < s.rows; ++j) {
            Complex root = t.root(j * k % s.factor, s.factor) * (s.last ? t.scale : 1.0);
            double crossed = part == 0 ? -root.imag() : root.imag();
            entries.push_back(part == from ? root.real() : crossed);
          }
    Value matrix = numbers({s.parts * s.columns, count * s.rows}, entries);
    int64_t batch = type(x).shape[0], columns = type(x).shape[2];
    DotGeneralAttrs attrs;
    attrs.lhs_contracting_dimensions = attrs.rhs_contracting_dimensions = {1};
    if (columns != 1)
      return dot_general(site_, matrix, x, of({s.parts * s.columns, batch, columns}), attrs);
    x = reshape(site_, x, {batch, count * s.rows});
    return dot_general(site_, x, matrix, of({batch, s.parts * s.columns}), attrs);
  }

  // [batch, column, part, rest, inner] of a product.
  Value in_order(Value y, int64_t batch, int64_t inner, const Stage& s) const {
    if (s.rest * inner == 1)
      return transpose(reshape(site_, y, {batch, s.parts, s.columns, s.rest, inner}),
                       {0, 2, 1, 3, 4});
    return transpose(reshape(site_, y, {s.parts, s.columns, batch, s.rest, inner}),
                     {2, 1, 0, 3, 4});
  }

  // Element (k, j) of y by root j * k of what the stage's line was long.
  Value turned(Value y, const Stage& s, const LineTransform& t) const {
    auto size = static_cast<size_t>(s.columns * s.rest);
    std::vector<double> straight(size), crossed(2 * size);
    for (int64_t k = 0; k < s.columns; ++k)
      for (int64_t j = 0; j < s.rest; ++j) {
        Complex root = t.root(j * k, s.factor * s.rest);
        straight[static_cast<size_t>(k * s.rest + j)] = root.real();
        crossed[static_cast<size_t>(2 * k * s.rest + j)] = -root.imag();
        crossed[static_cast<size_t>((2 * k + 1) * s.rest + j)] = root.imag();
      }
    Value other = site_.add(Op::kReverse, {y}, type(y), DimensionsAttrs{{2}});
    return binary(
        Op::kAdd,
        binary(Op::kMultiply, y, spread_numbers(y, {1, 3}, {s.columns, s.rest}, straight)),
        binary(Op::kMultiply, other,
               spread_numbers(y, {1, 2, 3}, {s.columns, 2, s.rest}, crossed)));
  }

  // The first factor's place is the lowest digit of an element's number, the last one's the
  // highest.
  Pair finish(Value y, const LineTransform& t, const Ints& factors, int64_t outer,
              int64_t inner) const {
    int64_t columns = type(y).shape[1], parts = type(y).shape[2];
    Shape digits = {outer};
    digits.insert(digits.end(), factors.begin(), factors.end() - 1);
    digits.insert(digits.end(), {columns, inner});
    Ints permutation(digits.size());
    for (size_t d = 0; d < digits.size(); ++d) permutation[d] = static_cast<int64_t>(d);
    std::reverse(permutation.begin() + 1, permutation.end() - 1);
    auto part = [&](int64_t i) {
      Value v = transpose(reshape(site_, slice(site_, y, 2, i, i + 1), digits), permutation);
      v = reshape(site_, v, {outer, columns * (t.n / factors.back()), inner});
      return slice(site_, v, 1, 0, t.wanted);
    };
    return {part(0), parts == 2 ? std::optional(part(1)) : std::nullopt};
  }

  // x by complex numbers along the middle dimension.
  Pair times(const Pair& x, const std::vector<Complex>& factors, bool imaginary = true) const {
    std::vector<double> re, im;
    for (const Complex& factor : factors) re.push_back(factor.real()), im.push_back(factor.imag());
    auto by = [&](Value v, const std::vector<double>& values) {
      auto size = static_cast<int64_t>(values.size());
      return binary(Op::kMultiply, v, spread_numbers(v, {1}, {size}, values));
    };
    if (!x.im) return {by(x.re, re), by(x.re, im)};
    Value real = binary(Op::kSubtract, by(x.re, re), by(*x.im, im));
    if (!imaginary) return {real};
    return {real, binary(Op::kAdd, by(x.re, im), by(*x.im, re))};
  }

  // jk = (j^2 + k^2 - (k - j)^2) / 2: the sum over j is a convolution with a chirp.
  Pair by_convolution(const Pair& x, const LineTransform& t) const {
    int64_t size = power_of_two_from(t.given + t.wanted - 1);
    std::vector<Complex> before, after, kernel(static_cast<size_t>(size));
    for (int64_t j = 0; j < t.given; ++j) {
      before.push_back(t.turn(j));
      kernel[static_cast<size_t>((size - j) % size)] = std::conj(t.turn(j));
    }
    for (int64_t k = 0; k < t.wanted; ++k) {
      after.push_back(t.turn(k) * t.scale);
      kernel[static_cast<size_t>(k)] = std::conj(t.turn(k));
    }
    fourier_transform(kernel, false);
    Pair spectrum = transform(times(x, before), {size, false, 1, t.given, size, true});
    double scale = 1 / static_cast<double>(size);
    Pair sums = transform(times(spectrum, kernel), {size, true, scale, size, t.wanted, true});
    return times(sums, after, t.imaginary);
  }

  const RewriteSite& site_;
  DType dtype_;
};

}  // namespace

Values fourier(const RewriteSite& site, const Caps& caps) {
  // Short lines are one product, whose roots of unity are exact where they are 0, 1 or -1: what is
  // real of a real line comes out so.
  const Ints length = fft_form(site.node).length;
  const bool is_short =
      std::all_of(length.begin(), length.end(), [](int64_t n) { return n <= kFactor; });
  if (caps.library_calls && !is_short) return std::nullopt;
  return Fourier(site).run();
}

}  // namespace tuff::decomposition
