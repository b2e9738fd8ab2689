// op.def's bodies as loops over lanes: every row, for one element type. A new row
// of op.def needs no edit here. Only for the files compiled per level.
#pragma once

#include "backend/cpu/lanes/element.h"
#include "backend/cpu/lanes/lane_division.h"
#include "backend/cpu/lanes/lane_halves.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/level.h"

// The prelude under a name of this level: where a function of it is not inlined,
// the linker must not give one level another level's instructions.
#define prelude TUFF_LEVEL_FN(prelude)
#include "shaders/prelude/prelude.h"

namespace tuff::cpu {
namespace {

using namespace tuff::prelude;  // NOLINT: op.def's bodies name its functions bare
#undef prelude

inline constexpr int64_t kHalfBlock = 128;  // f16 lanes that are widened at a time

// What a body returns where op.def says NONE.
struct Undefined {};
inline constexpr Undefined NONE{};

enum class BodyClass { kFloat, kSigned, kUnsigned, kBool };

template <typename T>
inline constexpr BodyClass kClassOf = std::is_same_v<T, bool>       ? BodyClass::kBool
                                      : std::is_floating_point_v<T> ? BodyClass::kFloat
                                      : std::is_signed_v<T>         ? BodyClass::kSigned
                                                                    : BodyClass::kUnsigned;
template <DType dtype>
inline constexpr BodyClass kBodyClass = kClassOf<typename Element<dtype>::T>;

// The compute types of operand 0 and of the others.
template <TypeRule rule, typename T>
using First = std::conditional_t<rule == TypeRule::kSelect, bool, T>;
template <TypeRule rule, typename T>
using Rest = std::conditional_t<rule == TypeRule::kPrecision, int32_t, T>;

template <Op op, typename E, BodyClass body_class>
struct Body;

#define TUFF_BODY(enumerator, body_class, rule, body)                             \
  template <typename E>                                                           \
  struct Body<Op::enumerator, E, BodyClass::body_class> {                         \
    using T = typename E::T;                                                      \
    using UT = typename E::UT;                                                    \
    using ST = typename E::ST;                                                    \
    static constexpr int W = E::kBits;                                            \
    static TUFF_INLINE auto eval([[maybe_unused]] First<TypeRule::k##rule, T> a,  \
                                 [[maybe_unused]] Rest<TypeRule::k##rule, T> b,   \
                                 [[maybe_unused]] Rest<TypeRule::k##rule, T> c) { \
      return body;                                                                \
    }                                                                             \
  };
#define ELEMENTWISE(enumerator, name, arity, rule, F, S, U, B) \
  TUFF_BODY(enumerator, kFloat, rule, F)                       \
  TUFF_BODY(enumerator, kSigned, rule, S)                      \
  TUFF_BODY(enumerator, kUnsigned, rule, U)                    \
  TUFF_BODY(enumerator, kBool, rule, B)
#define KERNEL_ONLY ELEMENTWISE
#include "ir/op.def"

// Operands of the other types that a row may have.
struct BoolOperand {
  using Storage = uint8_t;
  static TUFF_INLINE bool widen(uint8_t x) { return x != 0; }
};
struct IntOperand {
  using Storage = int32_t;
  static TUFF_INLINE int32_t widen(int32_t x) { return x; }
};

// One element, or one per lane. The single one is read once, before the loop.
template <typename E, bool single>
struct LaneInput {
  explicit LaneInput(const void* p) : data(static_cast<const typename E::Storage*>(p)) {}
  TUFF_INLINE auto operator[](int64_t i) const { return E::widen(data[i]); }
  const typename E::Storage* data;
};
template <typename E>
struct LaneInput<E, true> {
  explicit LaneInput(const void* p)
      : value(p ? E::widen(*static_cast<const typename E::Storage*>(p)) : decltype(value){}) {}
  TUFF_INLINE auto operator[](int64_t) const { return value; }
  decltype(E::widen(typename E::Storage{})) value;
};

inline constexpr bool is_integer_division(Op op, BodyClass body_class) {
  return (op == Op::kDivide || op == Op::kRemainder) &&
         (body_class == BodyClass::kSigned || body_class == BodyClass::kUnsigned);
}

template <Op op, DType dtype, TypeRule rule, int singles>
void run_lanes(int64_t n, void* out, const void* a, const void* b, const void* c) {
  using E = Element<dtype>;
  using B = Body<op, E, kBodyClass<dtype>>;
  using FirstE = std::conditional_t<rule == TypeRule::kSelect, BoolOperand, E>;
  using RestE = std::conditional_t<rule == TypeRule::kPrecision, IntOperand, E>;
  const LaneInput<FirstE, (singles & 1) != 0> x(a);
  const LaneInput<RestE, (singles & 2) != 0> y(b);
  const LaneInput<RestE, (singles & 4) != 0> z(c);
  if constexpr (is_integer_division(op, kBodyClass<dtype>)) {
    divide_lanes<op == Op::kDivide, (singles & 2) != 0, E>(
        n, static_cast<typename E::Storage*>(out), [&](int64_t i) { return x[i]; },
        [&](int64_t i) { return y[i]; });
  } else if constexpr (rule == TypeRule::kPredicate) {
    auto* to = static_cast<uint8_t*>(out);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = B::eval(x[i], y[i], z[i]) ? 1 : 0;
  } else if constexpr (rule == TypeRule::kTotalOrder) {
    auto* to = static_cast<typename E::ST*>(out);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = B::eval(x[i], y[i], z[i]);
  } else {
    auto* to = static_cast<typename E::Storage*>(out);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      to[i] = E::narrow(static_cast<typename E::T>(B::eval(x[i], y[i], z[i])));
  }
}

// An operand as f32, block by block.
template <bool single>
struct HalfInput {
  explicit HalfInput(const void* p) : data(static_cast<const uint16_t*>(p)) {}
  TUFF_INLINE const float* block(int64_t at, int64_t count) {
    widen_halves(count, wide, data + at);
    return wide;
  }
  const uint16_t* data;
  float wide[kHalfBlock];
};
template <>
struct HalfInput<true> {
  explicit HalfInput(const void* p) {
    if (p != nullptr) widen_halves(1, &value, static_cast<const uint16_t*>(p));
  }
  TUFF_INLINE const float* block(int64_t, int64_t) const { return &value; }
  float value = 0;
};

// Of f16, where the level has instructions that convert it: computed as f32.
template <Op op, TypeRule rule, int singles>
void run_half_lanes(int64_t n, void* out, const void* a, const void* b, const void* c) {
  HalfInput<(singles & 1) != 0> x(a);
  HalfInput<(singles & 2) != 0> y(b);
  HalfInput<(singles & 4) != 0> z(c);
  for (int64_t at = 0; at < n; at += kHalfBlock) {
    const int64_t count = n - at < kHalfBlock ? n - at : kHalfBlock;
    const float *first = x.block(at, count), *second = y.block(at, count),
                *third = z.block(at, count);
    if constexpr (rule == TypeRule::kPredicate) {
      run_lanes<op, DType::kF32, rule, singles>(count, static_cast<uint8_t*>(out) + at, first,
                                                second, third);
    } else {
      float result[kHalfBlock];
      run_lanes<op, DType::kF32, rule, singles>(count, result, first, second, third);
      narrow_halves(count, static_cast<uint16_t*>(out) + at, result);
    }
  }
}

// Of one type throughout.
inline constexpr bool is_uniform(TypeRule rule) {
  return rule == TypeRule::kSame || rule == TypeRule::kClamp || rule == TypeRule::kPredicate;
}

// The order of f16 and bf16 is that of their own bits: take them as the upper half
// of a float, so that the result has 16 bits too.
template <Op op>
void run_total_order_16(int64_t n, void* out, const void* a, const void*, const void*) {
  using B = Body<op, Element<DType::kF32>, BodyClass::kFloat>;
  auto* from = static_cast<const uint16_t*>(a);
  auto* to = static_cast<int16_t*>(out);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    to[i] = static_cast<int16_t>(B::eval(float_from_bfloat(from[i]), 0, 0) >> 16);
}

// Operands the row does not have are never read, as if single.
template <int arity>
inline constexpr int kAbsent = arity == 1   ? 6
                               : arity == 2 ? 4
                                            : 0;

// Long bodies get no variants with single operands: their callers spread the
// operand, which is cheap next to the body.
inline constexpr bool is_long(Op op) {
  return op == Op::kAtan2 || op == Op::kPower || op == Op::kRemainder;
}

template <Op op, DType dtype, TypeRule rule, int arity, int singles>
void fill_variant(LaneFn (&variants)[8]) {
  constexpr int kPresent = (1 << arity) - 1;
  if constexpr ((singles & ~kPresent) == 0 && singles != kPresent) {
    if constexpr (kHasHalves && dtype == DType::kF16 && is_uniform(rule))
      variants[singles] = run_half_lanes<op, rule, singles | kAbsent<arity>>;
    else
      variants[singles] = run_lanes<op, dtype, rule, singles | kAbsent<arity>>;
  }
}

template <Op op, DType dtype, TypeRule rule, int arity>
void fill_row(LaneTable& table) {
  using Returned = decltype(Body<op, Element<dtype>, kBodyClass<dtype>>::eval({}, {}, {}));
  if constexpr (!std::is_same_v<Returned, Undefined>) {
    LaneFn(&variants)[8] = table.compute[static_cast<int>(op)][static_cast<int>(dtype)];
    if constexpr (rule == TypeRule::kPrecision) {
      variants[0] = variants[6] = run_lanes<op, dtype, rule, 6>;  // its widths are literals
    } else if constexpr (rule == TypeRule::kTotalOrder && Element<dtype>::kBits == 16) {
      variants[0] = run_total_order_16<op>;
    } else {
      fill_variant<op, dtype, rule, arity, 0>(variants);
      constexpr bool kWide = arity == 2 || dtype == DType::kF32 || dtype == DType::kI32;
      constexpr bool kLong = is_long(op) && !is_integer_division(op, kBodyClass<dtype>);
      if constexpr (arity > 1 && !kLong && kWide) {
        fill_variant<op, dtype, rule, arity, 1>(variants);
        fill_variant<op, dtype, rule, arity, 2>(variants);
        fill_variant<op, dtype, rule, arity, 3>(variants);
        fill_variant<op, dtype, rule, arity, 4>(variants);
        fill_variant<op, dtype, rule, arity, 5>(variants);
        fill_variant<op, dtype, rule, arity, 6>(variants);
      }
    }
  }
}

template <DType dtype>
void fill_compute(LaneTable& table) {
#define ELEMENTWISE(enumerator, name, arity, rule, ...) \
  fill_row<Op::enumerator, dtype, TypeRule::k##rule, arity>(table);
#define KERNEL_ONLY ELEMENTWISE
#include "ir/op.def"
}

}  // namespace
}  // namespace tuff::cpu
