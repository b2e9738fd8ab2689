// convert between any two element types (StableHLO's convert): floats round once
// to nearest even; float to integer truncates and saturates, NaN gives 0;
// integers wrap; to bool is v != 0. Compiled once per processor level.
#include <utility>

#include "backend/cpu/lanes/element.h"
#include "backend/cpu/lanes/lane_halves.h"
#include "backend/cpu/lanes/lane_table.h"
#include "backend/cpu/lanes/level.h"

namespace tuff::cpu {
namespace {

// `value` is in range wherever the cast's result is kept, and the cast itself is
// made of a clamped value, so that the loop has no branch.
template <typename To, typename F>
TUFF_INLINE To saturate(F value) {
  constexpr To kMin = std::numeric_limits<To>::min(), kMax = std::numeric_limits<To>::max();
  // max + 1 and min are powers of two (or 0), so both are exact.
  constexpr F kUpper = static_cast<F>(uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
  constexpr F kLower = static_cast<F>(kMin);
  bool over = value >= kUpper;
  bool inside = value > kLower && value < kUpper;  // false for NaN
  F safe = inside ? value : F(0);
  To result = static_cast<To>(safe);
  result = over ? kMax : result;
  return value <= kLower ? kMin : result;
}

// A number as a double that rounds further to 16 bits as the number itself would:
// of integers beyond 53 bits, what is lost becomes one sticky bit.
template <typename I>
double exact_double(I value) {
  if constexpr (std::is_integral_v<I> && sizeof(I) == 8) {
    bool negative = value < 0;
    uint64_t magnitude =
        negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    if (magnitude >> 53 != 0) {
      uint64_t low = magnitude & 0x7ffu;
      magnitude = (magnitude - low) | (low != 0 ? 0x800u : 0u);
    }
    return negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
  } else {
    return static_cast<double>(value);
  }
}

template <DType from, DType to>
TUFF_INLINE typename Element<to>::Storage convert_element(typename Element<from>::Storage x) {
  using To = typename Element<to>::Storage;
  constexpr bool kToInteger = !std::is_floating_point_v<typename Element<to>::T>;
  // As an integer a bool of any byte becomes 1 in vectors, too; a comparison would not.
  if constexpr (from == DType::kBool && to != DType::kBool)
    return convert_element<DType::kI32, to>(x < 1 ? x : 1);
  auto v = Element<from>::widen(x);
  if constexpr (from == to) {
    return x;
  } else if constexpr (to == DType::kBool) {
    return v != decltype(v){} ? 1 : 0;
  } else if constexpr (std::is_floating_point_v<decltype(v)> && kToInteger) {
    return saturate<To>(v);
  } else if constexpr (to == DType::kF16 || to == DType::kBF16) {
    // Narrow integers and f32 pass through float exactly; wider types must not
    // round twice, so they take the scalar functions.
    if constexpr (sizeof(x) <= 2 || from == DType::kF32)
      return Element<to>::narrow(static_cast<float>(v));
    else
      return to == DType::kF16 ? f64_to_f16(exact_double(v)) : f64_to_bf16(exact_double(v));
  } else {
    return static_cast<To>(v);
  }
}

template <DType from, DType to>
void convert_lanes(int64_t n, void* out, const void* a, const void*, const void*) {
  auto* source = static_cast<const typename Element<from>::Storage*>(a);
  auto* target = static_cast<typename Element<to>::Storage*>(out);
  if constexpr (kHasHalves && from == DType::kF16 && to == DType::kF32)
    return widen_halves(n, target, source);
  if constexpr (kHasHalves && from == DType::kF32 && to == DType::kF16)
    return narrow_halves(n, target, source);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) target[i] = convert_element<from, to>(source[i]);
}

template <int pair>
void fill_pair(LaneTable& table) {
  constexpr auto kFrom = static_cast<DType>(pair / kNumDTypes);
  constexpr auto kTo = static_cast<DType>(pair % kNumDTypes);
  table.convert[pair / kNumDTypes][pair % kNumDTypes] = convert_lanes<kFrom, kTo>;
}

template <int... pairs>
void fill_pairs(LaneTable& table, std::integer_sequence<int, pairs...>) {
  (fill_pair<pairs>(table), ...);
}

}  // namespace

void TUFF_LEVEL_FN(fill_convert_lanes)(LaneTable& table) {
  fill_pairs(table, std::make_integer_sequence<int, kNumDTypes * kNumDTypes>{});
}

}  // namespace tuff::cpu
