#include "frontend/stablehlo/import/expression.h"

#include <limits>

namespace tuff::stablehlo {

namespace {

Expr spread(const Expr& like, Literal scalar) {
  const OpContext& context = like.context();
  TensorType type = like.type();
  Value value = add_constant(context.graph(), std::move(scalar), context.loc);
  if (type.rank() == 0) return {context, value};
  return {context, context.add(Op::kBroadcastInDim, {value}, type, BroadcastInDimAttrs{})};
}

}  // namespace

Expr Expr::like(double constant) const {
  return spread(*this, Literal::scalar(type().dtype, constant));
}

Expr Expr::like_bits(int64_t constant) const {
  Literal scalar(TensorType{type().dtype, {}});
  scalar.set_int(0, constant);
  return spread(*this, std::move(scalar));
}

Expr Expr::inf() const { return like(std::numeric_limits<double>::infinity()); }
Expr Expr::nan() const { return like(std::numeric_limits<double>::quiet_NaN()); }

Expr Expr::max_finite() const {
  return like(type().dtype == DType::kF64 ? std::numeric_limits<double>::max()
                                          : static_cast<double>(std::numeric_limits<float>::max()));
}

Expr Expr::binary(Op op, std::initializer_list<Expr> others, TensorType type) const {
  Values operands{value_};
  for (const Expr& other : others) operands.push_back(other.value_);
  return {*context_, context_->add(op, std::move(operands), std::move(type))};
}

Expr Expr::convert(DType dtype) const {
  if (dtype == type().dtype) return *this;
  return binary(Op::kConvert, {}, {dtype, type().shape});
}

Expr Expr::bitcast(DType dtype) const {
  return binary(Op::kBitcastConvert, {}, {dtype, type().shape});
}

Expr Expr::select(const Expr& on_true, const Expr& on_false) const {
  return binary(Op::kSelect, {on_true, on_false}, on_true.type());
}

Expr Expr::compare(ComparisonDirection direction, const Expr& other) const {
  return {*context_,
          context_->add(Op::kCompare, {value_, other.value_}, {DType::kBool, type().shape},
                        CompareAttrs{direction, compare_type_of(type().dtype)})};
}

Expr atan2(const Expr& y, const Expr& x) { return y.binary(Op::kAtan2, {x}, y.type()); }

Expr power(const Expr& base, const Expr& exponent) {
  return base.binary(Op::kPower, {exponent}, base.type());
}

Expr polynomial(const Expr& x, std::initializer_list<double> coefficients) {
  const double* c = coefficients.begin();
  Expr sum = x.like(*c);
  while (++c != coefficients.end()) sum = sum * x + *c;
  return sum;
}

}  // namespace tuff::stablehlo
