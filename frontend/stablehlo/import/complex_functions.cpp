// Functions of a complex number, as formulas that neither cancel nor overflow where the result
// does not. What they have for infinities and zeros, signed ones too, is C's (Annex G), as XLA has
// it, too. Branch cuts follow the sign of a zero.
#include <cmath>
#include <numbers>

#include "frontend/stablehlo/import/complex.h"

namespace tuff::stablehlo {

namespace {

bool is_double(const Expr& x) { return x.type().dtype == DType::kF64; }

Expr maximum(const Expr& a, const Expr& b) { return a.binary(Op::kMaximum, {b}, a.type()); }
Expr minimum(const Expr& a, const Expr& b) { return a.binary(Op::kMinimum, {b}, a.type()); }
Expr is_infinite(const Expr& x) { return equal(x.abs(), x.inf()); }
Expr is_nan(const Expr& x) { return not_equal(x, x); }
Expr is(const Expr& x, double constant) { return equal(x, x.like(constant)); }
Expr both(const Expr& a, const Expr& b) { return a & b; }

// The size of one with the sign of the other, also of a zero.
Expr with_sign(const Expr& size, const Expr& of) {
  DType bits = is_double(size) ? DType::kI64 : DType::kI32;
  Expr word = of.bitcast(bits);
  Expr sign = word.like_bits(is_double(size) ? INT64_MIN : INT32_MIN);
  return (size.abs().bitcast(bits) | (word & sign)).bitcast(size.type().dtype);
}

// --- numbers as sums of two, where a sum cancels ------------------------------

struct Twice {
  Expr high, low;
};

// a + b and what rounding took of it.
Twice exact_sum(const Expr& a, const Expr& b) {
  Expr sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

// a^2 and what rounding took of it: a is cut into halves whose products are exact.
Twice exact_square(const Expr& a) {
  Expr cut = a * (is_double(a) ? 134217729.0 : 4097.0);
  Expr high = cut - (cut - a), low = a - high;
  Expr square = a * a;
  return {square, ((high * high - square) + 2.0 * (high * low)) + low * low};
}

// a + b^2 + c^2, where a may be near -1 and the squares as large.
Expr sum_of_squares(const Expr& a, const Expr& b, const Expr& c) {
  Twice bb = exact_square(b), cc = exact_square(c);
  Twice first = exact_sum(a, bb.high), second = exact_sum(first.high, cc.high);
  return second.high + (first.low + second.low + bb.low + cc.low);
}

// --- logarithms ---------------------------------------------------------------

// log sqrt(x^2 + y^2), away from where that is 1.
Expr log_size(const Expr& x, const Expr& y) {
  Expr a = x.abs(), b = y.abs(), large = maximum(a, b), small = minimum(a, b);
  Expr ratio = equal(large, small).select(large.like(1), small / large);
  Expr size = large.log() + 0.5 * (ratio * ratio).log1p();
  Expr zero = is(large, 0);
  Expr known = (is_infinite(a) | is_infinite(b)).select(size.inf(), zero.select(-size.inf(), size));
  return known;
}

// The squares of a size whose logarithm is about 0.
Expr is_near_one(const Expr& size) { return both(size > 0.5, size < 2.0); }

Complex log(const Complex& z) {
  Expr a = z.re.abs(), b = z.im.abs(), large = maximum(a, b), small = minimum(a, b);
  Expr near = 0.5 * sum_of_squares(large.like(-1), large, small).log1p();
  return {is_near_one(large).select(near, log_size(a, b)), atan2(z.im, z.re)};
}

Complex log1p(const Complex& z) {
  Expr shifted = z.re + 1.0;
  Expr near = 0.5 * sum_of_squares(2.0 * z.re, z.re, z.im).log1p();
  Expr large = maximum(shifted.abs(), z.im.abs());
  return {is_near_one(large).select(near, log_size(shifted, z.im)), atan2(z.im, shifted)};
}

// --- exponentials -------------------------------------------------------------

// e^x times a factor of at most 1, where e^x alone may overflow. Of a factor 0 it is 0.
Expr scaled_exp(const Expr& x, const Expr& factor) {
  Expr half = (0.5 * x).exp();
  Expr product = (half * factor) * half;
  return is(factor, 0).select(factor, product);
}

Complex exp(const Complex& z) {
  Expr size = z.re.exp(), beyond = is_infinite(size);
  Expr c = z.im.cos(), s = z.im.sin();
  Expr re = beyond.select(scaled_exp(z.re, c), size * c);
  Expr im = beyond.select(scaled_exp(z.re, s), size * s);
  return {re, is(z.im, 0).select(z.im, im)};
}

// cos y - 1 is -2 sin^2(y / 2).
Complex expm1(const Complex& z) {
  Complex large = exp(z);
  Expr half = (0.5 * z.im).sin();
  Expr grown = z.re.expm1();
  Expr re = grown * z.im.cos() - 2.0 * half * half;
  re = is(z.im, 0).select(grown, re);
  return {(z.re.abs() > 1.0).select(large.re - 1.0, re), large.im};
}

// Of the sign that makes e small: nothing overflows.
Complex logistic(const Complex& z) {
  Expr left = z.re < 0.0;
  Complex e = exp({-z.re.abs(), left.select(z.im, -z.im)});
  Expr one = z.re.like(1), zero = z.re.like(0);
  return Complex::select(left, e, {one, zero}) / Complex{e.re + 1.0, e.im};
}

// --- trigonometric and hyperbolic functions -----------------------------------

// sinh x or cosh x times a factor of at most 1, where the first may overflow alone.
Expr scaled(const Expr& hyperbolic, const Expr& x, const Expr& factor) {
  Expr sign = hyperbolic.unary(Op::kSign);
  Expr beyond = 0.5 * (sign * scaled_exp(x.abs(), factor));
  Expr product = is_infinite(hyperbolic).select(beyond, hyperbolic * factor);
  return (is(factor, 0) | is(hyperbolic, 0)).select(sign * factor, product);
}

Complex sinh(const Complex& z) {
  Expr im = scaled(cosh(z.re), z.re, z.im.sin());
  return {scaled(sinh(z.re), z.re, z.im.cos()), is(z.im, 0).select(z.im, im)};
}

Complex cosh(const Complex& z) {
  return {scaled(cosh(z.re), z.re, z.im.cos()), scaled(sinh(z.re), z.re, z.im.sin())};
}

Complex sin(const Complex& z) { return over_i(sinh(times_i(z))); }
Complex cos(const Complex& z) { return cosh(times_i(z)); }

// Kahan's: with t = tan y and s = sinh x, (1 + t^2) s sqrt(1 + s^2) + i t over 1 + (1 + t^2) s^2.
// Beyond a few x the real part is 1, and the imaginary one falls as e^-2x.
Complex tanh(const Complex& z) {
  Expr x = z.re.abs(), t = z.im.unary(Op::kTan), s = sinh(x);
  Expr beta = 1.0 + t * t, divisor = 1.0 + beta * s * s;
  Complex near{beta * s * (1.0 + s * s).sqrt() / divisor, t / divisor};
  Expr c = z.im.cos(), fall = (-2.0 * x).exp();
  Expr wave = is_infinite(x).select(z.im.like(0), 4.0 * z.im.sin() * c * fall);
  Expr is_far = x > (is_double(x) ? 20.0 : 10.0);
  Complex result = Complex::select(is_far, {1.0 + 0.0 * wave, wave}, near);
  return {with_sign(result.re, z.re), is(z.im, 0).select(z.im, result.im)};
}

Complex tan(const Complex& z) { return over_i(tanh(times_i(z))); }

// --- roots --------------------------------------------------------------------

// A root of the larger part's size first; the other part follows by a division.
Complex sqrt(const Complex& z) {
  Expr a = z.re.abs(), b = z.im.abs(), large = maximum(a, b);
  double tiny = is_double(a) ? 0x1p-1000 : 0x1p-100, step = is_double(a) ? 0x1p54 : 0x1p24;
  Expr is_tiny = large<tiny, is_huge = large> 1 / tiny;
  Expr scale = is_tiny.select(a.like(step * step), is_huge.select(a.like(0x1p-4), a.like(1)));
  Expr back = is_tiny.select(a.like(1 / step), is_huge.select(a.like(4), a.like(1)));
  Expr root = ((hypot(a * scale, b * scale) + a * scale) * 0.5).sqrt() * back;
  Expr other = is(root, 0).select(root, b / (2.0 * root));
  other = is_infinite(a).select(a.like(0), other);
  Expr left = z.re < 0.0;
  Complex result{left.select(other, root), with_sign(left.select(root, other), z.im)};
  Complex infinite{b, z.im};
  result = Complex::select(is_infinite(b), infinite, result);
  return {result.re, is_nan(z.im).select(z.im, result.im)};
}

// conj(sqrt z) / |z|.
Complex rsqrt(const Complex& z) {
  Complex root = sqrt(z);
  Expr size = absolute(root), zero = size.like(0), infinite = is_infinite(size);
  Complex result{root.re / size / size, -(root.im / size / size)};
  result = Complex::select(infinite, {zero, with_sign(zero, -z.im)}, result);
  return Complex::select(is(size, 0), {size.inf(), size.nan()}, result);
}

Complex cbrt(const Complex& z) {
  Expr size = absolute(z).unary(Op::kCbrt), angle = atan2(z.im, z.re) / 3.0;
  return {size * angle.cos(), size * angle.sin()};
}

// --- inverse functions --------------------------------------------------------

// What asin and acos have in common, after Hull, Fairgrieve and Tang (1997), of |x| and |y|.
struct Arc {
  Expr cosine;  // |cos of the real part|, so that it is atan2 of x and this
  Expr size;    // |imaginary part|
};

Arc arc_of(const Expr& x, const Expr& y) {
  Expr r = hypot(x + 1.0, y), s = hypot(x - 1.0, y), a = 0.5 * (r + s);
  Expr inside = x <= x.like(1);
  Expr by_r = y * (y / (r + (x + 1.0)));  // r - x - 1
  Expr below = s + (1.0 - x), above = s + (x - 1.0);
  Expr left_of_one = (0.5 * (a + x) * (by_r + below)).sqrt();
  Expr right_of_one = y * (0.5 * ((a + x) / (r + (x + 1.0)) + (a + x) / above)).sqrt();
  Expr cosine = inside.select(left_of_one, right_of_one);
  Expr less = (x < x.like(1)).select(0.5 * (by_r + y * (y / below)), 0.5 * (by_r + above));
  Expr size = (less + (less * (a + 1.0)).sqrt()).log1p();
  // Squares of y underflow, and are all there is left of 1.
  double tiny = is_double(x) ? 1e-150 : 1e-18;
  Expr flat = both(y < tiny, x < x.like(1));
  size = flat.select(y / ((1.0 - x) * (1.0 + x)).sqrt(), size);
  double huge = is_double(x) ? 0x1p500 : 0x1p60;
  Expr far = (x > x.like(huge)) | (y > y.like(huge));
  return {far.select(y, cosine), far.select(log_size(x, y) + std::numbers::ln2, size)};
}

Complex asin(const Complex& z) {
  Arc arc = arc_of(z.re.abs(), z.im.abs());
  return {atan2(z.re, arc.cosine), with_sign(arc.size, z.im)};
}

Complex acos(const Complex& z) {
  Arc arc = arc_of(z.re.abs(), z.im.abs());
  return {atan2(arc.cosine, z.re), -with_sign(arc.size, z.im)};
}

Complex asinh(const Complex& z) { return over_i(asin(times_i(z))); }

Complex acosh(const Complex& z) {
  Arc arc = arc_of(z.re.abs(), z.im.abs());
  return {arc.size, with_sign(atan2(arc.cosine, z.re), z.im)};
}

// log((1 + z) / (1 - z)) / 2.
Complex atanh(const Complex& z) {
  Expr x = z.re.abs(), y = z.im.abs(), large = maximum(x, y), small = minimum(x, y);
  Expr rest = 1.0 - x;
  Expr re = 0.25 * (4.0 * (x / (rest * rest + y * y))).log1p();
  Expr im = 0.5 * atan2(2.0 * y, rest * (1.0 + x) - y * y);
  // At the pole the square of y underflows.
  double tiny = is_double(x) ? 1e-150 : 1e-18;
  re = both(equal(x, x.like(1)), y < tiny).select(0.5 * (std::numbers::ln2 - y.log()), re);
  double huge = is_double(x) ? 0x1p500 : 0x1p60;
  Expr far = large > huge, ratio = small / large;
  Expr fall = (x / large) / (large * (1.0 + ratio * ratio));
  fall = (is_infinite(x) | is_infinite(y)).select(x.like(0), fall);
  re = (far | is_infinite(y)).select(fall, re);
  im = far.select(im.like(std::numbers::pi / 2), im);
  return {with_sign(re, z.re), with_sign(im, z.im)};
}

Complex atan(const Complex& z) { return over_i(atanh(times_i(z))); }

// --- other --------------------------------------------------------------------

Complex square(const Complex& z) {
  Expr re = (z.re - z.im) * (z.re + z.im);
  re = equal(z.re.abs(), z.im.abs()).select(z.re - z.re, re);  // 0, but not of infinities
  return {re, 2.0 * (z.re * z.im)};
}

Complex sign(const Complex& z) {
  Expr size = absolute(z), none = is(size, 0);
  return {none.select(z.re, z.re / size), none.select(z.im, z.im / size)};
}

Complex negate(const Complex& z) { return {-z.re, -z.im}; }

struct FormulaRow {
  std::string_view name;
  ComplexFormula formula;
};
constexpr FormulaRow kFormulas[] = {
    {"acos", acos},         {"acosh", acosh},
    {"asin", asin},         {"asinh", asinh},
    {"atan", atan},         {"atanh", atanh},
    {"cbrt", cbrt},         {"conj", conj},
    {"cosh", cosh},         {"cosine", cos},
    {"exponential", exp},   {"exponential_minus_one", expm1},
    {"log", log},           {"log_plus_one", log1p},
    {"logistic", logistic}, {"negate", negate},
    {"rsqrt", rsqrt},       {"sign", sign},
    {"sine", sin},          {"sinh", sinh},
    {"sqrt", sqrt},         {"square", square},
    {"tan", tan},           {"tanh", tanh},
};

}  // namespace

ComplexFormula find_complex_formula(std::string_view name) {
  for (const FormulaRow& row : kFormulas)
    if (row.name == name) return row.formula;
  return nullptr;
}

// |a|^c e^(-d arg a), at the angle c arg a + d log |a|.
Complex power(const Complex& base, const Complex& exponent) {
  Expr size = absolute(base), angle = atan2(base.im, base.re);
  Expr scale = power(size, exponent.re), turn = exponent.re * angle;
  if (!is_zero(exponent.im)) {
    scale = scale * (-(exponent.im * angle)).exp();
    turn = turn + exponent.im * size.log();
  }
  Complex result{scale * turn.cos(), scale * turn.sin()};
  Expr zero = size.like(0), one = size.like(1);
  Expr no_exponent = both(is(exponent.re, 0), is(exponent.im, 0));
  result = Complex::select(both(is(size, 0), exponent.re > 0.0), {zero, zero}, result);
  return Complex::select(no_exponent, {one, zero}, result);
}

// -i log((x + i y) / sqrt(x^2 + y^2)).
Complex atan2(const Complex& y, const Complex& x) {
  return over_i(log((x + times_i(y)) / sqrt(x * x + y * y)));
}

}  // namespace tuff::stablehlo
