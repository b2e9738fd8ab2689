// convert between any two element types (StableHLO, convert). Float to float and
// integer to float round once to nearest even; float to integer truncates and
// saturates, NaN gives 0; integers wrap; to bool is v != 0.
#include <limits>

#include "ir/evaluate/elementwise.h"
#include "ir/evaluate/ops.h"

namespace tuff::eval {

namespace {

template <typename To, typename V>
To saturate(V value) {
  constexpr To kMin = std::numeric_limits<To>::min(), kMax = std::numeric_limits<To>::max();
  if (value != value) return 0;
  // The bounds are powers of two (max + 1 and min), so they are exact in V.
  constexpr V kUpper = static_cast<V>(uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
  if (value >= kUpper) return kMax;
  if (value <= static_cast<V>(kMin)) return kMin;
  return static_cast<To>(value);
}

// An integer as a double that rounds further to 16 bits as the integer itself
// would: beyond 53 bits the lost bits are kept as one sticky bit.
template <typename From>
double to_double_sticky(From value) {
  if constexpr (sizeof(From) < 8) {
    return static_cast<double>(value);
  } else {
    bool negative = value < 0;
    uint64_t magnitude = static_cast<uint64_t>(value);
    if (negative) magnitude = uint64_t{0} - magnitude;
    if (magnitude >> 53 != 0) {
      constexpr uint64_t kLow = (uint64_t{1} << 11) - 1;
      uint64_t sticky = (magnitude & kLow) != 0 ? kLow + 1 : 0;
      magnitude = (magnitude & ~kLow) | sticky;
    }
    return negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
  }
}

template <typename To, typename From>
To convert_element(From value) {
  auto v = widen(value);
  if constexpr (kIsBool<To>)
    return {static_cast<uint8_t>(v != 0 ? 1 : 0)};
  else if constexpr (kIsFloat<From> && kIsInteger<To>)
    return saturate<To>(v);
  else if constexpr (kIsInteger<From> && kIsFloat<To> && sizeof(To) == 2)
    return narrow<To>(to_double_sticky(v));
  else
    return narrow<To>(v);
}

}  // namespace

ElementwiseFunction convert_function(DType from, DType to) {
  return dispatch(from, [&]<typename From>(Tag<From>) {
    return dispatch(to, []<typename To>(Tag<To>) -> ElementwiseFunction {
      return [](const ElementwiseCall& call) {
        auto* a = reinterpret_cast<const From*>(call.operands[0]);
        auto* out = reinterpret_cast<To*>(call.result);
        for (int64_t i = 0; i < call.count; ++i) out[i] = convert_element<To>(a[i]);
      };
    });
  });
}

Literal convert_literal(const Literal& literal, DType to) {
  if (literal.type().dtype == to) return literal;
  Literal result(TensorType{to, literal.type().shape});
  ElementwiseCall call;
  call.operands[0] = literal.bytes();
  call.result = result.mutable_bytes();
  call.count = literal.num_elements();
  convert_function(literal.type().dtype, to)(call);
  return result;
}

}  // namespace tuff::eval
