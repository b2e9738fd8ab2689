// chlo operations: what the Graph has as one node becomes that node, the others
// are expanded by the formulas of StableHLO's own legalisation. 16-bit floats are
// computed in 32 bits and rounded once.
#include <fmt/format.h>

#include <cmath>

#include "frontend/stablehlo/import/expression.h"

namespace tuff::stablehlo {

// exp(x + log(1/2)) does not overflow where exp(x) does but its half does not.
Expr cosh(const Expr& x) {
  double log_half = std::log(0.5);
  return (x + log_half).exp() + (log_half - x).exp();
}

Expr sinh(const Expr& x) {
  double log_half = std::log(0.5);
  Expr large = (x + log_half).exp() - (log_half - x).exp();
  Expr e = x.expm1();
  return (x.abs() < 1.0).select(0.5 * (e + e / (e + 1.0)), large);
}

namespace {

// Written so that nothing cancels near |x| = 1: 1 - x*x = (1 - x) * (1 + x).
Expr acos(const Expr& x) { return atan2(((1.0 - x) * (1.0 + x)).sqrt(), x); }

Expr asin(const Expr& x) {
  Expr half = atan2(x, 1.0 + ((1.0 - x) * (1.0 + x)).sqrt());
  return half + half;
}

Expr acosh(const Expr& x) {
  Expr root = (x - 1.0).sqrt();
  Expr large = x.like(std::log(2.0)) + x.log();
  return (x >= x.max_finite() / 2.0).select(large, (root * ((x + 1.0).sqrt() + root)).log1p());
}

Expr asinh(const Expr& x) {
  Expr a = x.abs(), square = a * a;
  Expr large = x.like(std::log(2.0)) + a.log();
  Expr small = (a + square / (1.0 + (1.0 + square).sqrt())).log1p();
  double limit = x.type().dtype == DType::kF64 ? 1.3407807929942596e154 : 1.8446743523953730e19;
  return x.unary(Op::kSign) * (a >= a.like(limit)).select(large, small);
}

Expr atan(const Expr& x) { return atan2(x, x.like(1.0)); }

Expr atanh(const Expr& x) {
  return (x.abs() > 1.0).select(x.nan(), (x.log1p() - (-x).log1p()) * 0.5);
}

// The integer neighbour of x's bits, one step towards y.
OpResult next_after(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_operands(2));
  TUFF_RETURN_IF_ERROR(context.expect_results(1));
  DType dtype = context.types[0].dtype;
  if (!is_float(dtype)) return context.bad("The operation is defined for floats.");
  int64_t size = dtype_size(dtype);
  DType bits = size == 2 ? DType::kI16 : size == 4 ? DType::kI32 : DType::kI64;
  Expr x(context, context.operands[0]), y(context, context.operands[1]);
  Expr xi = x.bitcast(bits), yi = y.bitcast(bits);
  int64_t sign_bit = static_cast<int64_t>(~uint64_t{0} << (size * 8 - 1));
  Expr sign = xi.like_bits(sign_bit), magnitude = xi.like_bits(~sign_bit);
  Expr one = xi.like_bits(1), zero = xi.like_bits(0);
  Expr x_abs = xi & magnitude, y_abs = yi & magnitude;
  Expr shrink = (x_abs > y_abs) | not_equal(xi & sign, yi & sign);
  Expr result = xi + shrink.select(xi.like_bits(-1), one);
  Expr from_zero = equal(y_abs, zero).select(yi, (yi & sign) | one);
  result = equal(x_abs, zero).select(from_zero, result);
  result = equal(x, y).select(yi, result);
  Expr any_nan = not_equal(x, x) | not_equal(y, y);
  return Values{any_nan.select(x.nan().bitcast(bits), result).bitcast(dtype).value()};
}

Expr shift_right(const Expr& a, int64_t amount, bool arithmetic) {
  Op op = arithmetic ? Op::kShiftRightArithmetic : Op::kShiftRightLogical;
  return a.binary(op, {a.like_bits(amount)}, a.type());
}

// The upper 64 bits of an unsigned product, from four 32-bit products.
Expr mulhi_u64(const Expr& a, const Expr& b) {
  auto high = [](const Expr& v) { return shift_right(v, 32, false); };
  auto low = [](const Expr& v) { return v & v.like_bits(0xFFFFFFFF); };
  Expr middle = high(b) * low(a) + high(low(a) * low(b));
  Expr other = high(a) * low(b) + low(middle);
  return high(a) * high(b) + high(middle) + high(other);
}

OpResult mulhi(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_operands(2));
  DType dtype = context.type(context.operands[0]).dtype;
  if (!is_integer(dtype)) return context.bad("The operation is defined for integers.");
  Expr a(context, context.operands[0]), b(context, context.operands[1]);
  bool is_signed = is_signed_int(dtype);
  int64_t bits = dtype_size(dtype) * 8;
  if (bits < 64) {
    DType wide = is_signed ? DType::kI64 : DType::kU64;
    return Values{
        shift_right(a.convert(wide) * b.convert(wide), bits, is_signed).convert(dtype).value()};
  }
  Expr ua = a.convert(DType::kU64), ub = b.convert(DType::kU64);
  Expr result = mulhi_u64(ua, ub);
  if (is_signed) {  // two's complement: each negative factor took the other 2^64 times too often
    Expr zero = ua.like_bits(0);
    result = result - (a < a.like_bits(0)).select(ub, zero) - (b < b.like_bits(0)).select(ua, zero);
  }
  return Values{result.convert(dtype).value()};
}

OpResult top_k(OpContext& context) {
  Node node;
  node.op = Op::kTopK;
  node.operands = context.operands;
  node.types = context.types;
  node.attrs = TopKAttrs{context.int_attribute("k", -1)};
  return context.add_checked(std::move(node));
}

// Infinities are told by equality, so that a NaN is none.
OpResult is_infinite(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_operands(1));
  Expr x(context, context.operands[0]);
  if (!is_float(x.type().dtype)) return context.bad("The operation is defined for floats.");
  std::string_view name = context.short_name();
  if (name == "is_inf") return Values{equal(x.abs(), x.inf()).value()};
  return Values{equal(x, name == "is_pos_inf" ? x.inf() : x.like(-INFINITY)).value()};
}

OpResult constant_like(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_operands(1));
  const Attribute* value = context.attribute("value");
  Expr x(context, context.operands[0]);
  if (value)
    if (auto* number = std::get_if<double>(&value->value)) return Values{x.like(*number).value()};
  return Values{x.like_bits(context.int_attribute("value")).value()};
}

OpResult as_operand(OpContext& context) { return context.operands; }

OpResult single_node(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_operands(1));
  std::string_view name = context.short_name();
  Expr x(context, context.operands[0]);
  if (name == "square") return Values{(x * x).value()};
  if (!is_float(x.type().dtype)) return context.bad("The operation is defined for floats.");
  return Values{x.unary(name == "tan" ? Op::kTan : Op::kErf).value()};
}

struct UnaryRow {
  std::string_view name;
  Formula formula;
};
constexpr UnaryRow kUnary[] = {
    {"acos", acos},
    {"acosh", acosh},
    {"asin", asin},
    {"asinh", asinh},
    {"atan", atan},
    {"atanh", atanh},
    {"cosh", cosh},
    {"sinh", sinh},
    {"erfc", erfc},
    {"erf_inv", erf_inv},
    {"lgamma", lgamma},
    {"digamma", digamma},
    {"bessel_i1e", bessel_i1e},
};

Result<DType> wide_float(const OpContext& context, size_t operands) {
  TUFF_RETURN_IF_ERROR(context.expect_operands(operands));
  TUFF_RETURN_IF_ERROR(context.expect_results(1));
  for (Value v : context.operands)
    if (context.type(v) != context.types[0] || !is_float(context.types[0].dtype))
      return context.bad("The operation is defined for floats of one type.");
  return context.types[0].dtype == DType::kF64 ? DType::kF64 : DType::kF32;
}

OpResult unary_formula(OpContext& context) {
  TUFF_ASSIGN(DType wide, wide_float(context, 1));
  Expr x = Expr(context, context.operands[0]).convert(wide);
  for (const UnaryRow& row : kUnary)
    if (row.name == context.short_name())
      return Values{row.formula(x).convert(context.types[0].dtype).value()};
  return context.unsupported("The operation is not supported.");
}

OpResult binary_formula(OpContext& context) {
  TUFF_ASSIGN(DType wide, wide_float(context, 2));
  Expr a = Expr(context, context.operands[0]).convert(wide);
  Expr b = Expr(context, context.operands[1]).convert(wide);
  Expr result = context.short_name() == "zeta" ? zeta(a, b) : polygamma(a, b);
  return Values{result.convert(context.types[0].dtype).value()};
}

// numpy's broadcasting, then the operation without the prefix.
OpResult broadcasting(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_results(1));
  const Shape shape = context.types[0].shape;
  auto rank = static_cast<int64_t>(shape.size());
  for (Value& v : context.operands) {
    TensorType type = context.type(v);
    if (type.shape == shape) continue;
    TUFF_ASSIGN(std::vector<int64_t> dims, context.ints_attribute("broadcast_dimensions"));
    if (type.rank() > rank) return context.bad("An operand has more dimensions than the result.");
    // The attribute is about the operand of lower rank; without it sizes align at the end.
    if (static_cast<int64_t>(dims.size()) != type.rank() || type.rank() == rank) {
      dims.clear();
      for (int64_t i = 0; i < type.rank(); ++i) dims.push_back(rank - type.rank() + i);
    }
    Node node;
    node.op = Op::kBroadcastInDim;
    node.operands = {v};
    node.types = {{type.dtype, shape}};
    node.attrs = BroadcastInDimAttrs{std::move(dims)};
    TUFF_ASSIGN(Values spread, context.add_checked(std::move(node)));
    v = spread[0];
  }
  std::string inner(context.short_name().substr(std::string_view("broadcast_").size()));
  bool is_chlo = inner == "next_after" || inner == "zeta" || inner == "polygamma";
  Operation op = context.op;
  op.name = (is_chlo ? "chlo." : "stablehlo.") + inner;
  OpContext plain{context.importer, op,         context.scope, context.operands,
                  context.types,    context.loc};
  return is_chlo ? find_chlo_handler(inner)(plain) : import_table_op(plain);
}

}  // namespace

OpResult import_scan(OpContext& context);  // chlo_scan.cpp

Handler find_chlo_handler(std::string_view name) {
  struct Row {
    std::string_view name;
    Handler handler;
  };
  static constexpr Row kRows[] = {
      {"erf", single_node},        {"tan", single_node},
      {"square", single_node},     {"top_k", top_k},
      {"next_after", next_after},  {"mulhi", mulhi},
      {"is_inf", is_infinite},     {"is_pos_inf", is_infinite},
      {"is_neg_inf", is_infinite}, {"conj", as_operand},
      {"zeta", binary_formula},    {"polygamma", binary_formula},
      {"scan", import_scan},       {"constant_like", constant_like},
  };
  for (const Row& row : kRows)
    if (row.name == name) return row.handler;
  for (const UnaryRow& row : kUnary)
    if (row.name == name) return unary_formula;
  return name.starts_with("broadcast_") ? broadcasting : nullptr;
}

}  // namespace tuff::stablehlo
