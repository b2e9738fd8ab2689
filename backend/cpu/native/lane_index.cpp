// Indices: bases, their sums and multiples, and what is divided of them.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "backend/cpu/native/lane_values.h"

namespace tuff::cpu::native {

namespace {

using Form = LaneValue::Form;

}  // namespace

// A base with a form: a register that has it, or what the instruction gives.
LaneValue LaneValues::with_form(LaneValue value, const IndexForm& form, const Inst& inst) {
  begin_straight_code();
  if (form.is_zero()) {
    value.form = Form::kKnown, value.reg = kNone, value.multiple = 1;
    return value;
  }
  value.reg = forms_.holder(form);
  if (value.reg != kNone) return value;
  value.reg = emit(inst, false);
  forms_.set(value.reg, form);
  return value;
}

// Sums, and products with a number, of bases that stay bases.
std::optional<LaneValue> LaneValues::sum(Prim prim, Kind kind, const LaneValue& a,
                                         const LaneValue& b) {
  bool bases = a.form != Form::kVector && b.form != Form::kVector && a.kind != Kind::kBool;
  if (!bases || (prim == Prim::kSubtract && b.form == Form::kBased)) return std::nullopt;
  LaneValue value{.form = Form::kBased, .kind = kind};
  if (prim == Prim::kMultiply) {
    const LaneValue& base = a.form == Form::kBased ? a : b;
    std::optional<uint32_t> factor = known_bits(a.form == Form::kBased ? b : a);
    if (!factor) return std::nullopt;
    for (size_t i = 0; i < value.lanes.size(); ++i) value.lanes[i] = base.lanes[i] * *factor;
    const auto times = static_cast<int32_t>(*factor);
    const int64_t multiple = std::abs(int64_t{times}) * base.multiple;
    value.multiple =
        multiple == 0 || multiple > INT32_MAX ? base.multiple : static_cast<uint32_t>(multiple);
    return with_form(value, product_of(forms_.of(base.reg), times),
                     {.code = Code::kGMultiply, .a = base.reg, .imm = times});
  }
  for (size_t i = 0; i < value.lanes.size(); ++i)
    value.lanes[i] = prim == Prim::kAdd ? a.lanes[i] + b.lanes[i] : a.lanes[i] - b.lanes[i];
  bool both = a.form == b.form;
  const LaneValue& base = a.form == Form::kBased ? a : b;
  value.multiple = both ? std::gcd(a.multiple, b.multiple) : base.multiple;
  value.reg = base.reg;
  if (!both) return value;
  return with_form(value, sum_of(forms_.of(a.reg), forms_.of(b.reg), 1),
                   {.code = Code::kGAdd, .a = a.reg, .b = b.reg});
}

// (a + 1/2) / d is further from every integer than a double's rounding moves it.
Reg LaneValues::divided_index(Reg a, uint32_t divisor) {
  auto doubles = [&](double value) {
    auto bits = std::bit_cast<uint64_t>(value);
    Lanes lanes;
    for (size_t i = 0; i < lanes.size(); ++i)
      lanes[i] = static_cast<uint32_t>(i % 2 == 0 ? bits : bits >> 32);
    return code_.constant(lanes);
  };
  int outer = std::exchange(width, code_.width);
  auto half = [&](Reg low) {
    Reg sum = emit(Code::kAddD, emit(Code::kDoubleFromSigned, low), doubles(0.5));
    return emit(Code::kSignedFromDouble, emit(Code::kMultiplyD, sum, doubles(1.0 / divisor)));
  };
  Reg low = half(emit(Code::kLowHalf, a));
  bool few = 2 * outer <= code_.width;
  Reg all = few ? low : emit(Code::kJoin, low, half(emit(Code::kHighHalf, a)));
  width = outer;
  return all;
}

// Where the base divides without rest: it is shifted and multiplied by the inverse of what is left,
// an odd number, modulo 2^32.
std::optional<LaneValue> LaneValues::divided_exactly(const LaneValue& a, uint32_t divisor) {
  if (divisor == 0 || a.multiple % divisor != 0) return std::nullopt;
  LaneValue value = a;
  value.kind = Kind::kSigned;
  value.multiple = a.multiple / divisor;
  const auto by = static_cast<int32_t>(divisor);
  for (uint32_t& lane : value.lanes) {
    const auto l = static_cast<int32_t>(lane);
    lane = static_cast<uint32_t>(l / by - (l % by < 0 ? 1 : 0));
  }
  const IndexForm form = quotient_of(forms_.of(a.reg), divisor);
  begin_straight_code();
  value.reg = forms_.holder(form);
  if (value.reg != kNone) return value;
  const int bits = std::countr_zero(divisor);
  const uint32_t odd = divisor >> bits;
  uint32_t inverse = odd;  // right in 3 bits; each round doubles them
  for (int round = 0; round < 4; ++round) inverse *= 2 - odd * inverse;
  value.reg = a.reg;
  if (bits > 0) value.reg = emit_general(Code::kGShiftRightSigned, a.reg, kNone, kNone, bits);
  if (odd > 1)
    value.reg =
        emit_general(Code::kGMultiply, value.reg, kNone, kNone, static_cast<int32_t>(inverse));
  forms_.set(value.reg, form);
  return value;
}

std::optional<LaneValue> LaneValues::divide_index(const LaneValue& a, const LaneValue& b) {
  std::optional<uint32_t> divisor = known_bits(b);
  if (std::optional<LaneValue> value = fold(Prim::kDivideUnsigned, Kind::kSigned, a, b, {}))
    return value;
  if (a.form == Form::kBased && divisor)
    if (std::optional<LaneValue> value = divided_exactly(a, *divisor)) return value;
  if (a.form == Form::kBased && divisor && *divisor != 0) {
    // All lanes lie between two multiples of the divisor.
    uint32_t step = std::gcd(a.multiple, *divisor);
    auto [low, high] = std::minmax_element(a.lanes.begin(), a.lanes.begin() + width);
    if (*high <= INT32_MAX && *low / step == *high / step) {
      LaneValue first = a;
      first.lanes.fill(*low / step * step);
      return based(Kind::kSigned, emit_general(Code::kGDivide, general_of(first), kNone, kNone,
                                               static_cast<int32_t>(*divisor)));
    }
  }
  if (std::optional<LaneValue> value = in_general(Prim::kDivideUnsigned, Kind::kSigned, a, b, {}))
    return value;
  if (!divisor || *divisor == 0 || *divisor > 0x7fffffff) return std::nullopt;
  return vector(Kind::kSigned, divided_index(vector_of(a), *divisor), uniform(a));
}

}  // namespace tuff::cpu::native
