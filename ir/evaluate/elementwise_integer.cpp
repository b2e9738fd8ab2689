// Elementwise ops on integers and booleans. Arithmetic wraps; the corner cases of
// division and shifts are XLA's: x / 0 = -1, x % 0 = x,
// INT_MIN / -1 = INT_MIN, INT_MIN % -1 = 0, shifts past the width give 0 or the sign.
#include <bit>
#include <limits>

#include "ir/evaluate/elementwise.h"

namespace tuff::eval {

namespace {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

template <typename T>
constexpr int kBits = 8 * static_cast<int>(sizeof(T));

template <typename T>
T negate(T a) {
  return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a));
}

template <typename T>
T divide(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return negate(a);
  return static_cast<T>(a / b);
}

template <typename T>
T remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}

// A shift count is read as unsigned: a negative one is past the width.
template <typename T>
bool past_width(T count) {
  return static_cast<Unsigned<T>>(count) >= static_cast<Unsigned<T>>(kBits<T>);
}

template <typename T>
T shift_left(T a, T count) {
  return past_width(count) ? T(0) : static_cast<T>(static_cast<uint64_t>(a) << count);
}

template <typename T>
T shift_right_logical(T a, T count) {
  return past_width(count) ? T(0) : static_cast<T>(static_cast<Unsigned<T>>(a) >> count);
}

template <typename T>
T shift_right_arithmetic(T a, T count) {
  auto value = static_cast<std::make_signed_t<T>>(a);
  return static_cast<T>(value >> (past_width(count) ? kBits<T> - 1 : static_cast<int>(count)));
}

// Exact up to wrapping. A negative exponent means 1 / a^|b| truncated, so only
// a = 1 and a = -1 give something other than 0.
template <typename T>
T power(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b < 0) {
      if (a == 1) return 1;
      if (a == -1) return b % 2 == 0 ? T(1) : T(-1);
      return 0;
    }
  }
  uint64_t result = 1, base = static_cast<uint64_t>(a);
  for (auto exponent = static_cast<uint64_t>(b); exponent != 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}

template <typename T>
ElementwiseFunction unary(Op op) {
  auto make = [](auto f) { return make_unary<T, T>(f); };
  switch (op) {
    case Op::kAbs:
      return make([](T a) {
        if constexpr (std::is_signed_v<T>)
          return a < 0 ? negate(a) : a;
        else
          return a;
      });
    case Op::kCountLeadingZeros:
      return make(
          [](T a) { return static_cast<T>(std::countl_zero(static_cast<Unsigned<T>>(a))); });
    case Op::kNegate: return make([](T a) { return negate(a); });
    case Op::kNot: return make([](T a) { return static_cast<T>(~a); });
    case Op::kPopcnt:
      return make([](T a) { return static_cast<T>(std::popcount(static_cast<Unsigned<T>>(a))); });
    case Op::kSign: return make([](T a) { return static_cast<T>((a > 0) - (a < 0)); });
    default: return nullptr;
  }
}

template <typename T>
ElementwiseFunction integer_binary(Op op) {
  auto make = [](auto f) { return make_binary<T, T>(f); };
  switch (op) {
    case Op::kAdd: return make(Add{});
    case Op::kAnd: return make([](T a, T b) { return static_cast<T>(a & b); });
    case Op::kDivide: return make([](T a, T b) { return divide(a, b); });
    case Op::kMaximum: return make(Maximum{});
    case Op::kMinimum: return make(Minimum{});
    case Op::kMultiply: return make(Multiply{});
    case Op::kOr: return make([](T a, T b) { return static_cast<T>(a | b); });
    case Op::kPower: return make([](T a, T b) { return power(a, b); });
    case Op::kRemainder: return make([](T a, T b) { return remainder(a, b); });
    case Op::kShiftLeft: return make([](T a, T b) { return shift_left(a, b); });
    case Op::kShiftRightArithmetic:
      return make([](T a, T b) { return shift_right_arithmetic(a, b); });
    case Op::kShiftRightLogical: return make([](T a, T b) { return shift_right_logical(a, b); });
    case Op::kSubtract:
      return make([](T a, T b) {
        return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
      });
    case Op::kXor: return make([](T a, T b) { return static_cast<T>(a ^ b); });
    default: return nullptr;
  }
}

}  // namespace

ElementwiseFunction integer_function(Op op, DType dtype) {
  if (!is_integer(dtype)) return nullptr;
  return dispatch(dtype, [&]<typename T>(Tag<T>) -> ElementwiseFunction {
    if constexpr (kIsInteger<T>) {
      if (auto f = unary<T>(op)) return f;
      return integer_binary<T>(op);
    } else {
      return nullptr;
    }
  });
}

ElementwiseFunction boolean_function(Op op) {
  auto make = [](auto f) { return make_binary<Boolean, bool>(f); };
  switch (op) {
    case Op::kAdd:
    case Op::kOr:
    case Op::kMaximum: return make(Add{});
    case Op::kMultiply:
    case Op::kAnd:
    case Op::kMinimum: return make(Multiply{});
    case Op::kXor: return make([](bool a, bool b) { return a != b; });
    case Op::kNot: return make_unary<Boolean, bool>([](bool a) { return !a; });
    default: return nullptr;
  }
}

}  // namespace tuff::eval
