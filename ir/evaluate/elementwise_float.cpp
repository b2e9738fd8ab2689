// Elementwise ops on floats. +, -, *, / and sqrt run in the type itself (float
// for the 16-bit types: with 24 >= 2 * 11 + 2 bits the second rounding is
// harmless); transcendental functions run in double and round once.
#include <cmath>

#include "ir/evaluate/elementwise.h"

namespace tuff::eval {

namespace {

struct Sign {
  template <typename V>
  V operator()(V a) const {
    // NaN and both zeros are their own sign.
    return a > 0 ? V(1) : a < 0 ? V(-1) : a;
  }
};

struct Logistic {
  double operator()(double a) const { return 1.0 / (1.0 + std::exp(-a)); }
};

template <typename T>
ElementwiseFunction transcendental(Op op) {
  auto make = [](auto f) { return make_unary<T, double>(f); };
  switch (op) {
    case Op::kCbrt: return make([](double a) { return std::cbrt(a); });
    case Op::kCosine: return make([](double a) { return std::cos(a); });
    case Op::kErf: return make([](double a) { return std::erf(a); });
    case Op::kExponential: return make([](double a) { return std::exp(a); });
    case Op::kExponentialMinusOne: return make([](double a) { return std::expm1(a); });
    case Op::kLog: return make([](double a) { return std::log(a); });
    case Op::kLogPlusOne: return make([](double a) { return std::log1p(a); });
    case Op::kLogistic: return make(Logistic{});
    case Op::kRsqrt: return make([](double a) { return 1.0 / std::sqrt(a); });
    case Op::kSine: return make([](double a) { return std::sin(a); });
    case Op::kTan: return make([](double a) { return std::tan(a); });
    case Op::kTanh: return make([](double a) { return std::tanh(a); });
    default: return nullptr;
  }
}

template <typename T>
ElementwiseFunction exact_unary(Op op) {
  using V = Compute<T>;
  auto make = [](auto f) { return make_unary<T, V>(f); };
  switch (op) {
    case Op::kCeil: return make([](V a) { return std::ceil(a); });
    case Op::kFloor: return make([](V a) { return std::floor(a); });
    case Op::kRoundNearestAfz: return make([](V a) { return std::round(a); });
    // The rounding mode is the default one, to nearest even.
    case Op::kRoundNearestEven: return make([](V a) { return std::nearbyint(a); });
    case Op::kSign: return make(Sign{});
    case Op::kSqrt: return make([](V a) { return std::sqrt(a); });
    default: return nullptr;
  }
}

// abs and negate act on the sign bit, so that NaNs keep their payload.
template <typename T, typename F>
ElementwiseFunction make_bitwise(F) {
  return [](const ElementwiseCall& call) {
    using U = std::conditional_t<sizeof(T) == 2, uint16_t,
                                 std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
    constexpr U kSign = U(U(1) << (8 * sizeof(T) - 1));
    auto* a = reinterpret_cast<const T*>(call.operands[0]);
    auto* out = reinterpret_cast<T*>(call.result);
    for (int64_t i = 0; i < call.count; ++i)
      out[i] = std::bit_cast<T>(U(F{}(std::bit_cast<U>(a[i]), kSign)));
  };
}

template <typename T>
ElementwiseFunction float_binary(Op op) {
  using V = Compute<T>;
  auto make = [](auto f) { return make_binary<T, V>(f); };
  auto wide = [](auto f) { return make_binary<T, double>(f); };
  switch (op) {
    case Op::kAdd: return make(Add{});
    case Op::kAtan2: return wide([](double a, double b) { return std::atan2(a, b); });
    case Op::kDivide: return make([](V a, V b) { return a / b; });
    case Op::kMaximum: return make(Maximum{});
    case Op::kMinimum: return make(Minimum{});
    case Op::kMultiply: return make(Multiply{});
    case Op::kPower: return wide([](double a, double b) { return std::pow(a, b); });
    case Op::kRemainder: return make([](V a, V b) { return std::fmod(a, b); });
    case Op::kSubtract: return make([](V a, V b) { return a - b; });
    default: return nullptr;
  }
}

template <typename T>
ElementwiseFunction is_finite() {
  return [](const ElementwiseCall& call) {
    auto* a = reinterpret_cast<const T*>(call.operands[0]);
    auto* out = reinterpret_cast<Boolean*>(call.result);
    for (int64_t i = 0; i < call.count; ++i) out[i] = {std::isfinite(widen(a[i]))};
  };
}

// Bit layout of the float types.
template <typename T>
struct Layout;
template <>
struct Layout<Half> {
  using Bits = uint16_t;
  static constexpr int kMantissa = 10, kExponent = 5;
};
template <>
struct Layout<Bfloat> {
  using Bits = uint16_t;
  static constexpr int kMantissa = 7, kExponent = 8;
};
template <>
struct Layout<float> {
  using Bits = uint32_t;
  static constexpr int kMantissa = 23, kExponent = 8;
};
template <>
struct Layout<double> {
  using Bits = uint64_t;
  static constexpr int kMantissa = 52, kExponent = 11;
};

// StableHLO, reduce_precision: the mantissa is rounded to nearest even, values
// beyond the narrower exponent range become infinity, values below its normal
// range become a zero of the same sign. Runs in 64 bits for every type.
template <typename T>
T reduce_precision_element(T x, int exponent_bits, int mantissa_bits) {
  using L = Layout<T>;
  using Bits = typename L::Bits;
  constexpr uint64_t kExponentMask = ((uint64_t{1} << L::kExponent) - 1) << L::kMantissa;
  constexpr uint64_t kSignMask = uint64_t{1} << (L::kMantissa + L::kExponent);
  uint64_t original = std::bit_cast<Bits>(x), magnitude = original & ~kSignMask;
  uint64_t sign = original & kSignMask;
  if (magnitude > kExponentMask)  // NaN
    return mantissa_bits > 0 ? x : std::bit_cast<T>(Bits(sign | kExponentMask));
  int dropped = L::kMantissa - mantissa_bits;
  if (dropped > 0) magnitude = round_mantissa(magnitude, dropped) << dropped;
  if (exponent_bits < L::kExponent) {
    int64_t bias = (int64_t{1} << (L::kExponent - 1)) - 1;
    int64_t reduced_bias = (int64_t{1} << (exponent_bits - 1)) - 1;
    auto exponent = static_cast<int64_t>((magnitude & kExponentMask) >> L::kMantissa);
    if (exponent > bias + reduced_bias) magnitude = kExponentMask;
    if (exponent <= bias - reduced_bias) magnitude = 0;
  }
  return std::bit_cast<T>(Bits(sign | magnitude));
}

template <typename T>
void reduce_precision(const ElementwiseCall& call) {
  auto* a = reinterpret_cast<const T*>(call.operands[0]);
  auto* out = reinterpret_cast<T*>(call.result);
  for (int64_t i = 0; i < call.count; ++i)
    out[i] = reduce_precision_element(a[i], call.exponent_bits, call.mantissa_bits);
}

template <typename T>
ElementwiseFunction any_float(Op op) {
  if (op == Op::kIsFinite) return is_finite<T>();
  if (op == Op::kReducePrecision) return reduce_precision<T>;
  if (op == Op::kAbs) return make_bitwise<T>([](auto bits, auto sign) { return bits & ~sign; });
  if (op == Op::kNegate) return make_bitwise<T>([](auto bits, auto sign) { return bits ^ sign; });
  if (auto f = transcendental<T>(op)) return f;
  if (auto f = exact_unary<T>(op)) return f;
  return float_binary<T>(op);
}

}  // namespace

ElementwiseFunction float_function(Op op, DType dtype) {
  switch (dtype) {
    case DType::kF16: return any_float<Half>(op);
    case DType::kBF16: return any_float<Bfloat>(op);
    case DType::kF32: return any_float<float>(op);
    case DType::kF64: return any_float<double>(op);
    default: return nullptr;
  }
}

}  // namespace tuff::eval
