// Elementwise ops as functions over arrays. The same functions run whole tensors
// (n = number of elements) and the steps of scalar regions (n = 1).
#pragma once

#include "ir/evaluate/scalar.h"
#include "ir/graph.h"

namespace tuff::eval {

struct ElementwiseCall {
  const std::byte* operands[3] = {nullptr, nullptr, nullptr};
  std::byte* result = nullptr;
  int64_t count = 0;
  // reduce_precision only.
  int exponent_bits = 0;
  int mantissa_bits = 0;
};

using ElementwiseFunction = void (*)(const ElementwiseCall&);

// The function of an elementwise node; `operand` is the element type of the
// operands that carry the value (not of select's predicate). kUnsupported where
// the op has no meaning for the type.
Result<ElementwiseFunction> elementwise_function(const Node& node, DType operand);
// Index of the operand whose type picks the function: 1 for select, clamp.
size_t value_operand(Op op);

// What reduce_precision rounds to.
void set_precision(const Node& node, ElementwiseCall* call);

// Families, null where the op or type is not theirs.
ElementwiseFunction float_function(Op op, DType dtype);
ElementwiseFunction integer_function(Op op, DType dtype);
ElementwiseFunction boolean_function(Op op);
ElementwiseFunction compare_function(ComparisonDirection direction, bool total_order, DType dtype);
ElementwiseFunction convert_function(DType from, DType to);

// Turns a stateless callable over compute values into an array function.
// V is the type the callable runs in: Compute<T>, or double with one rounding.
template <typename T, typename V, typename F>
ElementwiseFunction make_unary(F) {
  return [](const ElementwiseCall& call) {
    auto* a = reinterpret_cast<const T*>(call.operands[0]);
    auto* out = reinterpret_cast<T*>(call.result);
    for (int64_t i = 0; i < call.count; ++i) out[i] = narrow<T>(F{}(static_cast<V>(widen(a[i]))));
  };
}

template <typename T, typename V, typename F>
ElementwiseFunction make_binary(F) {
  return [](const ElementwiseCall& call) {
    auto* a = reinterpret_cast<const T*>(call.operands[0]);
    auto* b = reinterpret_cast<const T*>(call.operands[1]);
    auto* out = reinterpret_cast<T*>(call.result);
    for (int64_t i = 0; i < call.count; ++i)
      out[i] = narrow<T>(F{}(static_cast<V>(widen(a[i])), static_cast<V>(widen(b[i]))));
  };
}

template <typename T, typename F>
ElementwiseFunction make_predicate(F) {
  return [](const ElementwiseCall& call) {
    auto* a = reinterpret_cast<const T*>(call.operands[0]);
    auto* b = reinterpret_cast<const T*>(call.operands[1]);
    auto* out = reinterpret_cast<Boolean*>(call.result);
    for (int64_t i = 0; i < call.count; ++i)
      out[i] = {static_cast<uint8_t>(F{}(widen(a[i]), widen(b[i])) ? 1 : 0)};
  };
}

// maximum and minimum: NaN wins, +0 is above -0 (IEEE 754-2019 maximum, minimum).
struct Maximum {
  template <typename V>
  V operator()(V a, V b) const {
    if constexpr (std::is_floating_point_v<V>) {
      if (a != a) return a;
      if (b != b) return b;
      if (a == b) return std::signbit(a) ? b : a;
    }
    return a > b ? a : b;
  }
};

struct Minimum {
  template <typename V>
  V operator()(V a, V b) const {
    if constexpr (std::is_floating_point_v<V>) {
      if (a != a) return a;
      if (b != b) return b;
      if (a == b) return std::signbit(a) ? a : b;
    }
    return a < b ? a : b;
  }
};

// Wrapping integer arithmetic without signed overflow; logical on booleans.
struct Add {
  template <typename V>
  V operator()(V a, V b) const {
    if constexpr (std::is_same_v<V, bool>)
      return a || b;
    else if constexpr (std::is_integral_v<V>)
      return static_cast<V>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else
      return a + b;
  }
};

struct Multiply {
  template <typename V>
  V operator()(V a, V b) const {
    if constexpr (std::is_same_v<V, bool>)
      return a && b;
    else if constexpr (std::is_integral_v<V>)
      return static_cast<V>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return a * b;
  }
};

}  // namespace tuff::eval
