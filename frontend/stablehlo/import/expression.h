// Expr: arithmetic on graph values that reads as the formula it adds. All operands
// of a formula have one type; constants take it.
#pragma once

#include <initializer_list>

#include "frontend/stablehlo/import/import.h"

namespace tuff::stablehlo {

class Expr {
 public:
  Expr(const OpContext& context, Value value) : context_(&context), value_(value) {}

  Value value() const { return value_; }
  const TensorType& type() const { return context_->type(value_); }
  const OpContext& context() const { return *context_; }

  // A constant of this value's type.
  Expr like(double constant) const;
  Expr like_bits(int64_t constant) const;  // integers, exactly
  Expr inf() const;
  Expr nan() const;
  Expr max_finite() const;

  Expr unary(Op op) const { return binary(op, {}, type()); }
  Expr convert(DType dtype) const;
  Expr bitcast(DType dtype) const;
  Expr select(const Expr& on_true, const Expr& on_false) const;  // this is the predicate
  Expr compare(ComparisonDirection direction, const Expr& other) const;

  Expr abs() const { return unary(Op::kAbs); }
  Expr exp() const { return unary(Op::kExponential); }
  Expr expm1() const { return unary(Op::kExponentialMinusOne); }
  Expr log() const { return unary(Op::kLog); }
  Expr log1p() const { return unary(Op::kLogPlusOne); }
  Expr sqrt() const { return unary(Op::kSqrt); }
  Expr floor() const { return unary(Op::kFloor); }
  Expr sin() const { return unary(Op::kSine); }
  Expr cos() const { return unary(Op::kCosine); }
  Expr operator-() const { return unary(Op::kNegate); }

  // An operation of this and others that gives `type`.
  Expr binary(Op op, std::initializer_list<Expr> others, TensorType type) const;

 private:
  const OpContext* context_;
  Value value_;
};

inline Expr operator+(const Expr& a, const Expr& b) { return a.binary(Op::kAdd, {b}, a.type()); }
inline Expr operator-(const Expr& a, const Expr& b) {
  return a.binary(Op::kSubtract, {b}, a.type());
}
inline Expr operator*(const Expr& a, const Expr& b) {
  return a.binary(Op::kMultiply, {b}, a.type());
}
inline Expr operator/(const Expr& a, const Expr& b) { return a.binary(Op::kDivide, {b}, a.type()); }
inline Expr operator%(const Expr& a, const Expr& b) {
  return a.binary(Op::kRemainder, {b}, a.type());
}
inline Expr operator&(const Expr& a, const Expr& b) { return a.binary(Op::kAnd, {b}, a.type()); }
inline Expr operator|(const Expr& a, const Expr& b) { return a.binary(Op::kOr, {b}, a.type()); }
inline Expr operator+(const Expr& a, double b) { return a + a.like(b); }
inline Expr operator-(const Expr& a, double b) { return a - a.like(b); }
inline Expr operator*(const Expr& a, double b) { return a * a.like(b); }
inline Expr operator/(const Expr& a, double b) { return a / a.like(b); }
inline Expr operator+(double a, const Expr& b) { return b.like(a) + b; }
inline Expr operator-(double a, const Expr& b) { return b.like(a) - b; }
inline Expr operator*(double a, const Expr& b) { return b.like(a) * b; }
inline Expr operator/(double a, const Expr& b) { return b.like(a) / b; }
inline Expr operator<(const Expr& a, const Expr& b) {
  return a.compare(ComparisonDirection::kLt, b);
}
inline Expr operator<=(const Expr& a, const Expr& b) {
  return a.compare(ComparisonDirection::kLe, b);
}
inline Expr operator>(const Expr& a, const Expr& b) {
  return a.compare(ComparisonDirection::kGt, b);
}
inline Expr operator>=(const Expr& a, const Expr& b) {
  return a.compare(ComparisonDirection::kGe, b);
}
inline Expr operator<(const Expr& a, double b) { return a < a.like(b); }
inline Expr operator<=(const Expr& a, double b) { return a <= a.like(b); }
inline Expr operator>(const Expr& a, double b) { return a > a.like(b); }
inline Expr equal(const Expr& a, const Expr& b) { return a.compare(ComparisonDirection::kEq, b); }
inline Expr not_equal(const Expr& a, const Expr& b) {
  return a.compare(ComparisonDirection::kNe, b);
}
Expr atan2(const Expr& y, const Expr& x);
Expr power(const Expr& base, const Expr& exponent);
// Horner's rule, the highest power's coefficient first.
Expr polynomial(const Expr& x, std::initializer_list<double> coefficients);

// chlo's functions of one float operand (or two), for f32 and f64; see chlo.cpp.
using Formula = Expr (*)(const Expr& x);
Expr sinh(const Expr& x);
Expr cosh(const Expr& x);
Expr erfc(const Expr& x);
Expr erf_inv(const Expr& x);
Expr lgamma(const Expr& x);
Expr digamma(const Expr& x);
Expr bessel_i1e(const Expr& x);
Expr zeta(const Expr& x, const Expr& q);
Expr polygamma(const Expr& n, const Expr& x);

}  // namespace tuff::stablehlo
