// Floats within bounds: maximum, minimum, and narrow integers made of floats.
// And of integers, the same.
#include <bit>
#include <cmath>

#include "backend/cpu/native/lane_values.h"

namespace tuff::cpu::native {

namespace {

constexpr uint32_t kMinusZero = 0x80000000u;

}  // namespace

// The processor's instruction gives its second operand where the order does not decide: NaNs, zeros
// of two signs.
LaneValue LaneValues::extreme(bool largest, const LaneValue& a, const LaneValue& b) {
  const Code code = largest ? Code::kMaximumF : Code::kMinimumF;
  const bool same = uniform(a) && uniform(b);
  for (const LaneValue* side : {&b, &a}) {
    std::optional<uint32_t> bits = known_bits(*side);
    if (!bits || std::isnan(std::bit_cast<float>(*bits))) continue;
    Reg known = constant(*bits), other = vector_of(side == &b ? a : b);
    Reg chosen = emit(code, known, other);
    // A zero of the other sign would have been chosen; a sum makes it 0.
    if (largest && *bits == 0) chosen = emit(Code::kAddF, chosen, known);
    if (largest || *bits != kMinusZero) return vector(Kind::kFloat, chosen, same);
  }
  Reg first = vector_of(a), second = vector_of(b);
  Reg one = emit(code, first, second), other = emit(code, second, first);
  Reg chosen = emit(largest ? Code::kAnd : Code::kOr, one, other);
  Reg nan = emit(Code::kCompareF, first, second, kNone, kUnorderedPredicate);
  return vector(Kind::kFloat, emit(Code::kBlend, emit(Code::kAddF, first, second), chosen, nan),
                same);
}

std::optional<LaneValue> LaneValues::extreme_integer(bool largest, const LaneValue& a,
                                                     const LaneValue& b) {
  const bool has_sign = a.kind == Kind::kSigned;
  const bool in_vectors = a.form == LaneValue::Form::kVector || b.form == LaneValue::Form::kVector;
  if (!in_vectors || (!has_sign && a.kind != Kind::kUnsigned)) return std::nullopt;
  const Code code = largest    ? has_sign ? Code::kMaximumSigned : Code::kMaximumUnsigned
                    : has_sign ? Code::kMinimumSigned
                               : Code::kMinimumUnsigned;
  Reg first = vector_of(a);
  return vector(a.kind, emit(code, first, vector_of(b)), uniform(a) && uniform(b));
}

LaneValue LaneValues::bounded_integer(Kind kind, const LaneValue& a, int32_t least, int32_t most) {
  auto bound = [&](int32_t value) {
    return constant(std::bit_cast<uint32_t>(static_cast<float>(value)));
  };
  // NaNs, as the second operands, stay; as integers they are the least of 32 bits.
  Reg above = emit(Code::kMaximumF, bound(least), vector_of(a));
  Reg within = emit(Code::kMinimumF, bound(most), above);
  return vector(kind, emit(Code::kSignedFromFloat, within), uniform(a));
}

}  // namespace tuff::cpu::native
