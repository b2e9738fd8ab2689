// Floats within bounds: maximum, minimum, and narrow integers made of floats.
// And of integers, the same.
#include <algorithm>
#include <bit>
#include <cmath>

#include "backend/cpu/native/lane_values.h"

namespace tuff::cpu::native {

namespace {

constexpr uint32_t kMinusZero = 0x80000000u;
constexpr uint32_t kMostSigned = 0x7fffffffu;

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

// Of a constant that is the same in all lanes.
std::optional<uint32_t> LaneValues::same_bits(Reg reg) const {
  if (!is_constant(reg)) return std::nullopt;
  const Lanes& lanes = code_.constants[constant_id(reg)];
  for (uint32_t lane : lanes)
    if (lane != lanes[0]) return std::nullopt;
  return lanes[0];
}

// Whether an instruction gives a number without its sign: x < 0 ? 0 - x : x.
bool LaneValues::drops_sign(const Inst& inst) const {
  if (inst.code != Code::kBlend) return false;
  const Inst *turned = results_.maker(inst.a), *below = results_.maker(inst.c);
  auto is = [&](const Inst* made, Code code) {
    return made != nullptr && made->code == code && same_bits(made->a) == 0u && made->b == inst.b;
  };
  return is(turned, Code::kSubtract) && is(below, Code::kGreater);
}

// A number without a sign that no lane is above, from the few instructions that made it.
uint32_t LaneValues::most_of(Reg reg) const {
  const Inst* inst = results_.maker(reg);
  if (inst == nullptr) return ~0u;
  if (drops_sign(*inst)) return kMostWithoutSign;
  const Reg other = is_constant(inst->b) ? inst->a : inst->b;
  std::optional<uint32_t> bound = same_bits(other == inst->a ? inst->b : inst->a);
  if (!bound) return ~0u;
  if (inst->code == Code::kAnd || inst->code == Code::kMinimumUnsigned) return *bound;
  // Between two bounds with a sign, neither of them below 0.
  const bool lower = inst->code == Code::kMaximumSigned;
  if (!lower && inst->code != Code::kMinimumSigned) return ~0u;
  const Inst* before = results_.maker(other);
  if (before == nullptr || *bound > kMostSigned) return ~0u;
  if (before->code != (lower ? Code::kMinimumSigned : Code::kMaximumSigned)) return ~0u;
  std::optional<uint32_t> first = same_bits(is_constant(before->b) ? before->b : before->a);
  if (!first || *first > kMostSigned) return ~0u;
  return lower ? std::max(*bound, *first) : *bound;
}

// Whether these bits are all that a register has.
bool LaneValues::keeps_all(Reg reg, Reg mask) const {
  std::optional<uint32_t> bits = same_bits(mask);
  return bits && (*bits & (*bits + 1)) == 0 && most_of(reg) <= *bits;
}

}  // namespace tuff::cpu::native
