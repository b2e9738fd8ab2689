// Arithmetic, comparisons, logic and conversions, element by element.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "frontend/onnx/build/call.h"
#include "frontend/onnx/file/dtypes.h"
#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

template <Op kOp>
Items unary(const Call& call) {
  return {call.need(0).unary(kOp)};
}

// A formula of one operand, computed in 32 bits where it has 16.
template <Tensor (*kFormula)(const Tensor&)>
Items formula(const Call& call) {
  Tensor x = call.need(0);
  return {kFormula(x.wide()).convert(x.dtype())};
}

// Up to opset 6 the second operand spreads along the first's dimensions from `axis` on.
std::pair<Tensor, Tensor> operands(const Call& call) {
  Tensor a = call.need(0), b = call.need(1);
  if (call.opset >= 7 || !call.flag("broadcast") || !call.has("axis")) return {a, b};
  int64_t axis = a.axis(call.i("axis", 0));
  Shape shape = b.shape();
  for (int64_t left = a.rank() - axis - b.rank(); left > 0; --left) shape.push_back(1);
  return {a, b.reshape(std::move(shape))};
}

template <Op kOp>
Items binary(const Call& call) {
  auto [a, b] = operands(call);
  return {a.binary(kOp, b)};
}

template <ComparisonDirection kDirection>
Items comparison(const Call& call) {
  auto [a, b] = operands(call);
  return {a.compare(kDirection, b)};
}

// Max, Min, Sum: any number of operands.
template <Op kOp>
Items variadic(const Call& call) {
  Tensor result = call.need(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) result = result.binary(kOp, call.need(i));
  return {result};
}

Items mean(const Call& call) {
  Tensor sum = variadic<Op::kAdd>(call)[0].tensor;
  return {sum / static_cast<double>(call.inputs.size())};
}

// The exponent may be of another type than the base, whose type the result has.
Items pow(const Call& call) {
  auto [base, exponent] = operands(call);
  DType dtype = base.dtype();
  if (is_float(dtype)) return {base.binary(Op::kPower, exponent.convert(dtype))};
  if (is_float(exponent.dtype()))
    return {base.convert(exponent.dtype()).binary(Op::kPower, exponent).convert(dtype)};
  return {base.binary(Op::kPower, exponent.convert(dtype))};
}

// fmod: the sign of the dividend; else that of the divisor.
Items mod(const Call& call) {
  Tensor a = call.need(0), b = call.need(1);
  Tensor rest = a.binary(Op::kRemainder, b);
  if (call.flag("fmod") || is_unsigned_int(a.dtype())) return {rest};
  Tensor zero = rest.scalar(0);
  Tensor differs = not_equal(rest, zero) & not_equal(rest < zero, b < zero);
  return {differs.select(rest + b, rest)};
}

Items bit_shift(const Call& call) {
  std::string direction = call.s("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    refuse_input("The attribute (direction) is neither LEFT nor RIGHT.");
  Tensor x = call.need(0);
  Op right = is_signed_int(x.dtype()) ? Op::kShiftRightArithmetic : Op::kShiftRightLogical;
  return {x.binary(direction == "LEFT" ? Op::kShiftLeft : right, call.need(1))};
}

Items where(const Call& call) { return {call.need(0).select(call.need(1), call.need(2))}; }

Items identity(const Call& call) {
  return {call.inputs.empty() ? Item(call.need(0)) : call.inputs[0]};
}

Items reciprocal(const Call& call) {
  Tensor x = call.need(0);
  return {1.0 / x};
}

Items is_nan(const Call& call) { return {not_equal(call.need(0), call.need(0))}; }

Items is_inf(const Call& call) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Tensor x = call.need(0);
  bool positive = call.flag("detect_positive", true), negative = call.flag("detect_negative", true);
  Tensor above = equal(x, x.scalar(kInf)), below = equal(x, x.scalar(-kInf));
  if (positive && negative) return {above | below};
  if (!positive && !negative) return {above & equal(x, x.scalar(0))};
  return {positive ? above : below};
}

// --- conversions

// The exponent of |x|, rounded as the attribute round_mode says, which is ONNX's own rule.
Tensor cast_to_e8m0(const Call& call, const Tensor& x) {
  Tensor bits = x.convert(DType::kF32).bitcast(DType::kU32);
  Tensor exponent = bits.binary(Op::kShiftRightLogical, bits.scalar(23)) & bits.scalar(0xff);
  Tensor fraction = bits & bits.scalar(0x7fffff), half = bits.scalar(0x400000);
  std::string mode = call.s("round_mode", "up");
  if (mode != "up" && mode != "down" && mode != "nearest")
    refuse_input(fmt::format("The attribute round_mode ({}) is not known.", mode));
  if (mode != "down") {
    Tensor rises = mode == "up" ? fraction > 0.0
                                : (fraction > half) | (equal(fraction, half) & (exponent > 0.0));
    rises = rises & (exponent < (call.flag("saturate", true) ? 254.0 : 255.0));
    exponent = exponent + rises.convert(DType::kU32);
  }
  return exponent.convert(DType::kU8).bitcast(DType::kF8E8M0FNU);
}

// A float becomes the nearest integer towards zero, and true where it is not zero.
Tensor cast(const Call& call, const Tensor& x, DType to) {
  if (to == x.dtype()) return x;
  if (to == DType::kBool) return not_equal(x, x.scalar(0));
  if (to == DType::kF8E8M0FNU) return cast_to_e8m0(call, x);
  return is_small_float(to) && call.flag("saturate", true) ? x.saturated(to) : x.convert(to);
}

Items cast_to(const Call& call) {
  return {cast(call, call.need(0), dtype_of(call.required_i("to")))};
}
Items cast_like(const Call& call) { return {cast(call, call.need(0), call.need(1).dtype())}; }

Items bit_cast(const Call& call) {
  DType to = dtype_of(call.required_i("to"));
  Tensor x = call.need(0);
  if (dtype_bits(to) != dtype_bits(x.dtype())) refuse_input("The types have not as many bits.");
  // A boolean's byte is 0 or 1.
  if (x.dtype() == DType::kBool) x = x.convert(DType::kU8);
  if (to == DType::kBool) return {not_equal(x, x.scalar(0))};
  return {x.bitcast(to)};
}

// --- formulas

Tensor acos(const Tensor& x) { return ((1.0 - x) * (1.0 + x)).sqrt().binary(Op::kAtan2, x); }
Tensor asin(const Tensor& x) {
  Tensor half = x.binary(Op::kAtan2, 1.0 + ((1.0 - x) * (1.0 + x)).sqrt());
  return half + half;
}
Tensor atan(const Tensor& x) { return x.binary(Op::kAtan2, x.scalar(1)); }
Tensor asinh(const Tensor& x) {
  Tensor a = x.abs(), square = a * a;
  Tensor small = (a + square / (1.0 + (1.0 + square).sqrt())).log1p();
  return x.unary(Op::kSign) * (a >= 1e15).select(a.log() + std::log(2.0), small);
}
Tensor acosh(const Tensor& x) {
  Tensor root = (x - 1.0).sqrt();
  Tensor small = (root * ((x + 1.0).sqrt() + root)).log1p();
  return (x >= 1e15).select(x.log() + std::log(2.0), small);
}
Tensor atanh(const Tensor& x) { return (x.log1p() - (-x).log1p()) * 0.5; }
// exp(x + log(1/2)) does not overflow where exp(x) does but its half does not.
Tensor cosh(const Tensor& x) { return (x + std::log(0.5)).exp() + (std::log(0.5) - x).exp(); }
Tensor sinh(const Tensor& x) {
  Tensor large = (x + std::log(0.5)).exp() - (std::log(0.5) - x).exp();
  Tensor e = x.unary(Op::kExponentialMinusOne);
  return (x.abs() < 1.0).select(0.5 * (e + e / (e + 1.0)), large);
}

constexpr OpRow kElementwiseRows[] = {
    {"Abs", unary<Op::kAbs>},
    {"Acos", formula<acos>},
    {"Acosh", formula<acosh>},
    {"Add", binary<Op::kAdd>},
    {"And", binary<Op::kAnd>},
    {"Asin", formula<asin>},
    {"Asinh", formula<asinh>},
    {"Atan", formula<atan>},
    {"Atanh", formula<atanh>},
    {"BitCast", bit_cast, "Types of one width."},
    {"BitShift", bit_shift},
    {"BitwiseAnd", binary<Op::kAnd>},
    {"BitwiseNot", unary<Op::kNot>},
    {"BitwiseOr", binary<Op::kOr>},
    {"BitwiseXor", binary<Op::kXor>},
    {"Cast", cast_to, "No strings."},
    {"CastLike", cast_like, "No strings."},
    {"Ceil", unary<Op::kCeil>},
    {"Cos", unary<Op::kCosine>},
    {"Cosh", formula<cosh>},
    {"Div", binary<Op::kDivide>},
    {"Equal", comparison<ComparisonDirection::kEq>, "No strings."},
    {"Erf", unary<Op::kErf>},
    {"Exp", unary<Op::kExponential>},
    {"Floor", unary<Op::kFloor>},
    {"Greater", comparison<ComparisonDirection::kGt>},
    {"GreaterOrEqual", comparison<ComparisonDirection::kGe>},
    {"Identity", identity},
    {"IsInf", is_inf},
    {"IsNaN", is_nan},
    {"Less", comparison<ComparisonDirection::kLt>},
    {"LessOrEqual", comparison<ComparisonDirection::kLe>},
    {"Log", unary<Op::kLog>},
    {"Max", variadic<Op::kMaximum>},
    {"Mean", mean},
    {"Min", variadic<Op::kMinimum>},
    {"Mod", mod},
    {"Mul", binary<Op::kMultiply>},
    {"Neg", unary<Op::kNegate>},
    {"Not", unary<Op::kNot>},
    {"Or", binary<Op::kOr>},
    {"Pow", pow},
    {"Reciprocal", reciprocal},
    {"Round", unary<Op::kRoundNearestEven>},
    {"Sign", unary<Op::kSign>},
    {"Sin", unary<Op::kSine>},
    {"Sinh", formula<sinh>},
    {"Sqrt", unary<Op::kSqrt>},
    {"Sub", binary<Op::kSubtract>},
    {"Sum", variadic<Op::kAdd>},
    {"Tan", unary<Op::kTan>},
    {"Where", where},
    {"Xor", binary<Op::kXor>},
};

}  // namespace

std::span<const OpRow> elementwise_ops() { return kElementwiseRows; }

}  // namespace tuff::onnx
