// Arithmetic of complex numbers.
#include "frontend/stablehlo/import/complex.h"

#include <fmt/format.h>

#include <cmath>

#include "ir/rewrite.h"

namespace tuff::stablehlo {

bool is_zero(const Expr& x) {
  const Literal* all = splat_value(x.context().graph(), x.value());
  return all && all->get_double(0) == 0;
}

Result<Complex> complex_operand(const OpContext& context, size_t i) {
  if (i >= context.op.operands.size())
    return context.bad(fmt::format("The operation has no operand ({}).", i));
  std::span<const Value> parts = context.scope.values.at(context.op.operands[i]);
  if (parts.empty() || parts.size() > 2)
    return context.bad(fmt::format("Operand ({}) is not a tensor.", i));
  Expr re(context, parts[0]);
  return Complex{re, parts.size() == 2 ? Expr(context, parts[1]) : re.like(0)};
}

Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }

// A factor that was converted from a real one costs no more than that.
Complex operator*(const Complex& a, const Complex& b) {
  if (is_zero(b.im)) return {a.re * b.re, a.im * b.re};
  if (is_zero(a.im)) return {a.re * b.re, a.re * b.im};
  Expr rr = a.re * b.re, ii = a.im * b.im, ri = a.re * b.im, ir = a.im * b.re;
  return {rr - ii, ri + ir};
}

namespace {

Expr is_infinite(const Complex& z) {
  return equal(z.re.abs(), z.re.inf()) | equal(z.im.abs(), z.im.inf());
}

// What counts of an infinite number: which parts are infinite, with their signs.
Expr infinite_part(const Expr& x) {
  Expr sign = not_equal(x, x).select(x.like(0), x.unary(Op::kSign));
  return equal(x.abs(), x.inf()).select(sign, sign * 0.0);
}

// Where Smith's way gives no number, C's rules do: over zero and of infinity it is infinite, over
// infinity zero.
Complex with_limits(const Complex& a, const Complex& b, const Complex& quotient) {
  Expr zero = b.re.like(0);
  Expr over_zero = equal(b.re, zero) & equal(b.im, zero);
  Complex result = Complex::select(over_zero, {a.re / b.re, a.im / b.re}, quotient);
  Expr large = is_infinite(a), beyond = is_infinite(b);
  Complex unit{infinite_part(a.re), infinite_part(a.im)};
  Complex outward{zero.inf() * (unit.re * b.re + unit.im * b.im),
                  zero.inf() * (unit.im * b.re - unit.re * b.im)};
  Expr none = not_equal(quotient.re, quotient.re) & not_equal(quotient.im, quotient.im);
  result = Complex::select(none & large & not_equal(beyond, large), outward, result);
  Complex limit{infinite_part(b.re), infinite_part(b.im)};
  Complex inward{zero * (a.re * limit.re + a.im * limit.im),
                 zero * (a.im * limit.re - a.re * limit.im)};
  return Complex::select(none & beyond & not_equal(beyond, large), inward, result);
}

}  // namespace

// Smith's way: no square of the divisor, which might overflow.
Complex operator/(const Complex& a, const Complex& b) {
  if (is_zero(b.im)) return {a.re / b.re, a.im / b.re};
  Expr by_real = b.re.abs() >= b.im.abs();
  Expr larger = by_real.select(b.re, b.im), smaller = by_real.select(b.im, b.re);
  Expr ratio = smaller / larger, divisor = larger + smaller * ratio;
  Expr re = by_real.select(a.re + a.im * ratio, a.re * ratio + a.im);
  Expr im = by_real.select(a.im - a.re * ratio, a.im * ratio - a.re);
  return with_limits(a, b, {re / divisor, im / divisor});
}

Expr hypot(const Expr& x, const Expr& y) {
  Expr a = x.abs(), b = y.abs();
  Expr larger = a.binary(Op::kMaximum, {b}, a.type()),
       smaller = a.binary(Op::kMinimum, {b}, a.type());
  Expr ratio = smaller / larger;
  Expr size = larger * (1.0 + ratio * ratio).sqrt();
  Expr infinite = equal(a, a.inf()) | equal(b, b.inf());
  return infinite.select(a.inf(), equal(larger, larger.like(0)).select(larger, size));
}

}  // namespace tuff::stablehlo
