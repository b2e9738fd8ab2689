// Complex: a pair of expressions that reads as one number. The Graph has no complex tensors; what
// is computed with them is written down here as formulas of their parts.
#pragma once

#include "frontend/stablehlo/import/expression.h"

namespace tuff::stablehlo {

struct Complex {
  Expr re, im;

  Values values() const { return {re.value(), im.value()}; }
  // Where the predicate holds this, elsewhere the other.
  static Complex select(const Expr& predicate, const Complex& on_true, const Complex& on_false) {
    return {predicate.select(on_true.re, on_false.re), predicate.select(on_true.im, on_false.im)};
  }
};

// Operand i of the source: a complex one, or a real one with nothing beside it.
Result<Complex> complex_operand(const OpContext& context, size_t i);

// True iff every element is known to be 0.
bool is_zero(const Expr& x);

Complex operator+(const Complex& a, const Complex& b);
Complex operator-(const Complex& a, const Complex& b);
Complex operator*(const Complex& a, const Complex& b);
Complex operator/(const Complex& a, const Complex& b);
inline Complex conj(const Complex& z) { return {z.re, -z.im}; }
inline Complex times_i(const Complex& z) { return {-z.im, z.re}; }
inline Complex over_i(const Complex& z) { return {z.im, -z.re}; }

// sqrt(a^2 + b^2) without overflow in between; infinite where either is.
Expr hypot(const Expr& a, const Expr& b);
inline Expr absolute(const Complex& z) { return is_zero(z.im) ? z.re.abs() : hypot(z.re, z.im); }

// The functions of one complex number that StableHLO and chlo have, by their names without the
// dialect; null: there is none (complex_functions.cpp).
using ComplexFormula = Complex (*)(const Complex& z);
ComplexFormula find_complex_formula(std::string_view name);
Complex power(const Complex& base, const Complex& exponent);
Complex atan2(const Complex& y, const Complex& x);

// Products, triangular_solve and cholesky (complex_linear.cpp).
OpResult complex_product(OpContext& context);
OpResult complex_triangular_solve(OpContext& context);
OpResult complex_cholesky(OpContext& context);

// The operation on real tensors: of each complex operand the part that is named for it, and the
// real part's type for each complex result.
OpResult on_parts(OpContext& context, const std::vector<size_t>& parts);

}  // namespace tuff::stablehlo
