#include "backend/cpu/native/lane_values.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace tuff::cpu::native {

namespace {

using Form = LaneValue::Form;

bool zero_lanes(const LaneValue& value) {
  return std::all_of(value.lanes.begin(), value.lanes.end(), [](uint32_t x) { return x == 0; });
}

// One lane of an operation on integers and bools; nothing of floats.
std::optional<uint32_t> fold_lane(Prim prim, uint32_t a, uint32_t b, uint32_t c) {
  auto sa = static_cast<int32_t>(a), sb = static_cast<int32_t>(b);
  switch (prim) {
    case Prim::kAdd: return a + b;
    case Prim::kSubtract: return a - b;
    case Prim::kMultiply: return a * b;
    case Prim::kAnd: return a & b;
    case Prim::kOr: return a | b;
    case Prim::kXor: return a ^ b;
    case Prim::kShiftLeft: return b < 32 ? a << b : 0;
    case Prim::kShiftRight: return b < 32 ? a >> b : 0;
    case Prim::kShiftRightSigned: return static_cast<uint32_t>(sa >> (b < 32 ? b : 31));
    case Prim::kEqual: return a == b;
    case Prim::kLessSigned: return sa < sb;
    case Prim::kLessUnsigned: return a < b;
    case Prim::kDivideUnsigned: return b == 0 ? std::optional<uint32_t>() : a / b;
    case Prim::kSelect: return a != 0 ? b : c;
    default: return std::nullopt;
  }
}

struct PrimRow {
  Prim prim;
  Code code;
};
constexpr PrimRow kVectorRows[] = {{Prim::kAddF, Code::kAddF},
                                   {Prim::kSubtractF, Code::kSubtractF},
                                   {Prim::kMultiplyF, Code::kMultiplyF},
                                   {Prim::kDivideF, Code::kDivideF},
                                   {Prim::kAdd, Code::kAdd},
                                   {Prim::kSubtract, Code::kSubtract},
                                   {Prim::kMultiply, Code::kMultiply},
                                   {Prim::kShiftLeft, Code::kShiftLeft},
                                   {Prim::kShiftRight, Code::kShiftRight},
                                   {Prim::kShiftRightSigned, Code::kShiftRightSigned},
                                   {Prim::kEqual, Code::kEqual},
                                   {Prim::kAnd, Code::kAnd},
                                   {Prim::kOr, Code::kOr},
                                   {Prim::kXor, Code::kXor},
                                   {Prim::kSqrtF, Code::kSqrtF},
                                   {Prim::kFloatFromSigned, Code::kFloatFromSigned},
                                   {Prim::kSignedFromFloat, Code::kSignedFromFloat}};

constexpr PrimRow kGeneralRows[] = {{Prim::kAdd, Code::kGAdd},
                                    {Prim::kSubtract, Code::kGSubtract},
                                    {Prim::kMultiply, Code::kGMultiply},
                                    {Prim::kAnd, Code::kGAnd},
                                    {Prim::kOr, Code::kGOr},
                                    {Prim::kXor, Code::kGXor},
                                    {Prim::kShiftLeft, Code::kGShiftLeft},
                                    {Prim::kShiftRight, Code::kGShiftRight},
                                    {Prim::kShiftRightSigned, Code::kGShiftRightSigned},
                                    {Prim::kDivideUnsigned, Code::kGDivide}};

// Predicates of vcmpps: false for NaN but for "not equal".
constexpr int64_t kEqualPredicate = 0, kLessPredicate = 17, kLessEqualPredicate = 18,
                  kNotEqualPredicate = 4;
// Of vroundps: the exception of a value that is not whole is not raised.
constexpr int64_t kRoundNearest = 8, kRoundDown = 9, kRoundUp = 10, kRoundToZero = 11;

}  // namespace

LaneValue LaneValues::known(Kind kind, uint32_t bits) {
  LaneValue value{.form = Form::kKnown, .kind = kind};
  value.lanes.fill(bits);
  return value;
}

LaneValue LaneValues::based(Kind kind, Reg reg, uint32_t multiple) {
  return {.form = Form::kBased, .kind = kind, .multiple = multiple, .reg = reg};
}

LaneValue LaneValues::vector(Kind kind, Reg reg, bool same) const {
  return {.form = Form::kVector, .kind = kind, .same = same || width == 1, .reg = reg};
}

LaneValue LaneValues::counting(uint32_t first) {
  LaneValue value{.form = Form::kKnown, .kind = Kind::kSigned};
  std::iota(value.lanes.begin(), value.lanes.end(), first);
  return value;
}

bool LaneValues::uniform(const LaneValue& value) const {
  if (value.form == Form::kVector) return value.same;
  return std::all_of(value.lanes.begin(), value.lanes.begin() + width,
                     [&](uint32_t lane) { return lane == value.lanes[0]; });
}

std::optional<uint32_t> LaneValues::known_bits(const LaneValue& value) const {
  if (value.form != Form::kKnown || !uniform(value)) return std::nullopt;
  return value.lanes[0];
}

uint32_t LaneValues::known_multiple(const LaneValue& value) const {
  if (value.form == Form::kVector || value.kind == Kind::kFloat) return 1;
  uint32_t multiple = value.form == Form::kBased ? value.multiple : 0;
  for (int i = 0; i < width; ++i)
    multiple = std::gcd(multiple, value.lanes[static_cast<size_t>(i)]);
  return multiple;
}

bool LaneValues::is_known(const LaneValue& value, uint32_t bits) const {
  return known_bits(value) == bits;
}

Reg LaneValues::constant(uint32_t bits) {
  Lanes lanes;
  lanes.fill(bits);
  return code_.constant(lanes);
}

Reg LaneValues::emit(Code code, Reg a, Reg b, Reg c, int64_t imm) {
  return emit({.code = code, .lanes = code_lanes(), .a = a, .b = b, .c = c, .imm = imm}, true);
}

Reg LaneValues::emit_general(Code code, Reg a, Reg b, Reg c, int64_t imm, Condition condition) {
  return emit({.code = code, .condition = condition, .a = a, .b = b, .c = c, .imm = imm}, false);
}

// What was computed before a label need not have been.
void LaneValues::begin_straight_code() {
  for (; seen_ < code_.insts.size(); ++seen_) {
    if (code_.insts[seen_].code != Code::kLabel) continue;
    results_.forget_all();
    less_.clear();
    forms_.forget_holders();
  }
}

Reg LaneValues::emit(Inst inst, bool vector) {
  const bool pure = KnownResults::is_pure(inst.code);
  begin_straight_code();
  if (pure)
    if (Reg known = results_.find(inst); known != kNone) return known;
  if (inst.code == Code::kAnd && keeps_all(inst.a, inst.b)) return inst.a;
  inst.out = code_.fresh(vector);
  code_.insts.push_back(inst);
  if (pure) results_.set(inst);
  return inst.out;
}

Reg LaneValues::vector_of(const LaneValue& value) {
  if (value.form == Form::kVector) return value.reg;
  if (value.form == Form::kKnown) {
    Lanes lanes = value.lanes;
    for (size_t i = static_cast<size_t>(width); i < lanes.size(); ++i) lanes[i] = lanes[0];
    if (value.kind == Kind::kBool)
      for (uint32_t& lane : lanes) lane = 0u - lane;
    return code_.constant(lanes);
  }
  Reg base = value.reg;
  if (value.kind == Kind::kBool) {
    Reg zero = emit_general(Code::kGMove, kNone);
    base = emit_general(Code::kGSubtract, zero, base);
  }
  Reg spread = emit(Code::kSpread, base);
  return zero_lanes(value) ? spread : emit(Code::kAdd, spread, code_.constant(value.lanes));
}

Reg LaneValues::general_of(const LaneValue& value) {
  if (value.form == Form::kKnown)
    return emit_general(Code::kGMove, kNone, kNone, kNone, static_cast<int32_t>(value.lanes[0]));
  if (value.form == Form::kBased)
    return value.lanes[0] == 0 ? value.reg
                               : emit_general(Code::kGAdd, value.reg, kNone, kNone,
                                              static_cast<int32_t>(value.lanes[0]));
  Reg lane = emit_general(Code::kExtract, value.reg);
  return value.kind == Kind::kBool ? emit_general(Code::kGAnd, lane, kNone, kNone, 1) : lane;
}

Reg LaneValues::signs(Reg mask) {
  return emit({.code = Code::kSigns, .lanes = code_lanes(), .a = mask}, false);
}

std::optional<LaneValue> LaneValues::fold(Prim prim, Kind kind, const LaneValue& a,
                                          const LaneValue& b, const LaneValue& c) const {
  int arity = arity_of(prim);
  bool all = a.form == Form::kKnown && (arity < 2 || b.form == Form::kKnown) &&
             (arity < 3 || c.form == Form::kKnown);
  if (!all) return std::nullopt;
  LaneValue value{.form = Form::kKnown, .kind = kind};
  for (size_t i = 0; i < value.lanes.size(); ++i) {
    std::optional<uint32_t> lane = fold_lane(prim, a.lanes[i], b.lanes[i], c.lanes[i]);
    if (!lane) return std::nullopt;
    value.lanes[i] = *lane;
  }
  return value;
}

std::optional<LaneValue> LaneValues::simplify(Prim prim, Kind kind, const LaneValue& a,
                                              const LaneValue& b, const LaneValue& c) {
  auto as = [kind](LaneValue value) {
    value.kind = kind;
    return value;
  };
  // A base is an integer; as a float it is spread.
  bool renames = kind != Kind::kFloat || a.form != Form::kBased;
  if ((prim == Prim::kOr || prim == Prim::kXor) && is_known(b, 0) && renames) return as(a);
  if (prim == Prim::kSelect) {
    if (std::optional<uint32_t> condition = known_bits(a)) return *condition != 0 ? b : c;
    if (a.form == Form::kKnown) {
      int64_t yes = 0;
      for (int i = 0; i < width; ++i)
        yes |= static_cast<int64_t>(a.lanes[static_cast<size_t>(i)] != 0) << i;
      return vector(kind, emit(Code::kBlendLanes, vector_of(c), vector_of(b), kNone, yes), false);
    }
  }
  if (kind == Kind::kBool && (prim == Prim::kAnd || prim == Prim::kOr)) {
    uint32_t decides = prim == Prim::kOr;
    for (const LaneValue* side : {&a, &b}) {
      const LaneValue& other = side == &a ? b : a;
      if (is_known(*side, decides)) return known(kind, decides);
      if (is_known(*side, 1 - decides)) return other;
    }
  }
  if ((prim == Prim::kAdd || prim == Prim::kSubtract) && is_known(b, 0)) return as(a);
  if (prim == Prim::kAdd || prim == Prim::kSubtract || prim == Prim::kMultiply)
    return sum(prim, kind, a, b);
  return std::nullopt;
}

std::optional<LaneValue> LaneValues::in_general(Prim prim, Kind kind, const LaneValue& a,
                                                const LaneValue& b, const LaneValue& c) {
  int arity = arity_of(prim);
  const LaneValue* operands[] = {&a, &b, &c};
  for (int i = 0; i < arity; ++i) {
    const LaneValue& operand = *operands[i];
    if (operand.form == Form::kVector || operand.kind == Kind::kFloat || !uniform(operand))
      return std::nullopt;
  }
  for (const PrimRow& row : kGeneralRows) {
    if (row.prim != prim) continue;
    std::optional<uint32_t> imm = known_bits(b);
    if (imm && prim != Prim::kDivideUnsigned)
      return based(kind,
                   emit_general(row.code, general_of(a), kNone, kNone, static_cast<int32_t>(*imm)));
    return based(kind, emit_general(row.code, general_of(a), general_of(b)));
  }
  if (prim == Prim::kSelect) {
    if (kind != Kind::kBool)
      if (std::optional<LaneValue> value = extreme_of(a, b, c)) return value;
    uint32_t multiple = std::gcd(known_multiple(b), known_multiple(c));
    Reg chosen = emit_general(Code::kGSelect, general_of(b), general_of(c), general_of(a));
    return based(kind, chosen, std::max(multiple, 1u));
  }
  if (prim != Prim::kEqual && prim != Prim::kLessSigned && prim != Prim::kLessUnsigned)
    return std::nullopt;
  Condition condition = prim == Prim::kEqual        ? Condition::kEqual
                        : prim == Prim::kLessSigned ? Condition::kLess
                                                    : Condition::kBelow;
  Reg first = general_of(a);
  std::optional<uint32_t> imm = known_bits(b);
  Reg second = imm ? kNone : general_of(b);
  const Reg holds = emit_general(Code::kGCompare, first, second, kNone,
                                 imm ? static_cast<int32_t>(*imm) : 0, condition);
  if (prim == Prim::kLessSigned) less_[holds] = {a, b};
  return based(kind, holds);
}

// The less or the more of the two that the condition compares.
std::optional<LaneValue> LaneValues::extreme_of(const LaneValue& condition, const LaneValue& yes,
                                                const LaneValue& no) {
  auto found = less_.find(condition.reg);
  if (condition.form != Form::kBased || found == less_.end()) return std::nullopt;
  auto same = [](const LaneValue& x, const LaneValue& y) {
    return x.form == y.form && x.reg == y.reg && x.lanes[0] == y.lanes[0];
  };
  const auto& [a, b] = found->second;
  const bool least = same(yes, a) && same(no, b);
  if (!least && !(same(yes, b) && same(no, a))) return std::nullopt;
  const LaneValue &first = known_bits(yes) ? no : yes, &second = known_bits(yes) ? yes : no;
  const std::optional<uint32_t> imm = known_bits(second);
  const Reg reg =
      emit_general(least ? Code::kGMinimum : Code::kGMaximum, general_of(first),
                   imm ? kNone : general_of(second), kNone, imm ? static_cast<int32_t>(*imm) : 0);
  return based(yes.kind, reg, std::max(std::gcd(known_multiple(yes), known_multiple(no)), 1u));
}

// The odd lanes' products, moved down, beside the even lanes'.
Reg LaneValues::high_product(bool is_signed, Reg a, Reg b) {
  Code code = is_signed ? Code::kMultiplyEvenSigned : Code::kMultiplyEvenUnsigned;
  Reg even = emit(Code::kShiftRightWide, emit(code, a, b), kNone, kNone, 32);
  auto odd_of = [&](Reg reg) {
    return same_bits(reg) ? reg : emit(Code::kShiftRightWide, reg, kNone, kNone, 32);
  };
  Reg odd_a = odd_of(a);
  Reg odd = emit(code, odd_a, odd_of(b));
  return emit(Code::kBlendLanes, even, odd, kNone, 0xaaaa & ((1 << code_lanes()) - 1));
}

// By multiplication with the reciprocal, rounded up to 33 bits of which the first is 1 (Granlund
// and Montgomery, Division by invariant integers using multiplication). Of numbers up to 2^31, as
// those without their sign are, to 32 bits.
Reg LaneValues::divided(Reg a, uint32_t divisor) {
  auto shift = [&](Reg value, int bits) {
    return bits == 0 ? value
                     : emit(Code::kShiftRight, value, constant(static_cast<uint32_t>(bits)));
  };
  if (std::has_single_bit(divisor)) return shift(a, std::countr_zero(divisor));
  int bits = std::bit_width(divisor - 1);
  if (most_of(a) <= kMostWithoutSign) {
    const uint64_t factor = ((uint64_t{1} << (31 + bits)) + divisor - 1) / divisor;
    return shift(high_product(false, a, constant(static_cast<uint32_t>(factor))), bits - 1);
  }
  uint64_t excess = (uint64_t{1} << bits) - divisor;
  auto factor = static_cast<uint32_t>((excess << 32) / divisor + 1);
  Reg high = high_product(false, a, constant(factor));
  Reg half = shift(emit(Code::kSubtract, a, high), 1);
  return shift(emit(Code::kAdd, half, high), bits - 1);
}

// The same work, figure 5.2: of numbers with a sign, by a multiplier of 33 bits whose first is 1.
std::optional<LaneValue> LaneValues::divide_signed(const LaneValue& a, const LaneValue& b) {
  const std::optional<uint32_t> divisor = known_bits(b);
  if (!divisor || *divisor < 2 || *divisor >= kMostWithoutSign || known_bits(a))
    return std::nullopt;
  const int bits = std::bit_width(*divisor - 1);
  const auto factor = static_cast<uint32_t>((uint64_t{1} << (31 + bits)) / *divisor + 1);
  auto shift = [&](Reg value, int by) {
    return by == 0 ? value
                   : emit(Code::kShiftRightSigned, value, constant(static_cast<uint32_t>(by)));
  };
  const Reg number = vector_of(a);
  const Reg sum = emit(Code::kAdd, number, high_product(true, number, constant(factor)));
  const Reg quotient = emit(Code::kSubtract, shift(sum, bits - 1), shift(number, 31));
  return vector(Kind::kSigned, quotient, uniform(a));
}

// Both halves convert exactly and their sum rounds once.
Reg LaneValues::float_from_unsigned(Reg a) {
  Reg high = emit(Code::kFloatFromSigned, emit(Code::kShiftRight, a, constant(16)));
  Reg low = emit(Code::kFloatFromSigned, emit(Code::kAnd, a, constant(0xffff)));
  return emit(Code::kAddF, emit(Code::kMultiplyF, high, constant(0x47800000)), low);
}

std::optional<Reg> LaneValues::in_vectors(Prim prim, const LaneValue& a, const LaneValue& b,
                                          const LaneValue& c) {
  auto va = [&] { return vector_of(a); };
  auto vb = [&] { return vector_of(b); };
  for (const PrimRow& row : kVectorRows)
    if (row.prim == prim) {
      Reg first = va();
      return emit(row.code, first, arity_of(prim) > 1 ? vb() : kNone);
    }
  auto compare = [&](int64_t predicate) {
    Reg first = va();
    return emit(Code::kCompareF, first, vb(), kNone, predicate);
  };
  auto round = [&](int64_t mode) { return emit(Code::kRoundF, va(), kNone, kNone, mode); };
  switch (prim) {
    case Prim::kEqualF: return compare(kEqualPredicate);
    case Prim::kNotEqualF: return compare(kNotEqualPredicate);
    case Prim::kLessF: return compare(kLessPredicate);
    case Prim::kLessEqualF: return compare(kLessEqualPredicate);
    case Prim::kRoundF: return round(kRoundNearest);
    case Prim::kFloorF: return round(kRoundDown);
    case Prim::kCeilF: return round(kRoundUp);
    case Prim::kTruncF: return round(kRoundToZero);
    case Prim::kFmaF: {
      Reg first = va(), second = vb();
      return emit(Code::kFma, first, second, vector_of(c));
    }
    case Prim::kSelect: {
      Reg condition = va(), yes = vb();
      return emit(Code::kBlend, yes, vector_of(c), condition);
    }
    case Prim::kLessSigned: {
      Reg first = va();
      return emit(Code::kGreater, vb(), first);
    }
    case Prim::kLessUnsigned: {
      if (code_.is_wide()) {
        Reg first = va();
        return emit(Code::kBelow, first, vb());
      }
      // The order of signed numbers once their top bits are flipped.
      Reg first = emit(Code::kXor, va(), constant(0x80000000u));
      Reg second = emit(Code::kXor, vb(), constant(0x80000000u));
      return emit(Code::kGreater, second, first);
    }
    case Prim::kHighSigned:
    case Prim::kHighUnsigned: {
      Reg first = va();
      return high_product(prim == Prim::kHighSigned, first, vb());
    }
    case Prim::kDivideUnsigned: {
      std::optional<uint32_t> divisor = known_bits(b);
      if (!divisor || *divisor == 0) return std::nullopt;
      return divided(va(), *divisor);
    }
    case Prim::kFloatFromUnsigned: return float_from_unsigned(va());
    default: return std::nullopt;
  }
}

std::optional<LaneValue> LaneValues::apply(Prim prim, Kind kind, const LaneValue& a,
                                           const LaneValue& b, const LaneValue& c) {
  if (std::optional<LaneValue> value = fold(prim, kind, a, b, c)) return value;
  if (std::optional<LaneValue> value = simplify(prim, kind, a, b, c)) return value;
  if (kind != Kind::kFloat)
    if (std::optional<LaneValue> value = in_general(prim, kind, a, b, c)) return value;
  int arity = arity_of(prim);
  bool same = uniform(a) && (arity < 2 || uniform(b)) && (arity < 3 || uniform(c));
  std::optional<Reg> reg = in_vectors(prim, a, b, c);
  if (!reg) return std::nullopt;
  return vector(kind, *reg, same);
}

std::optional<std::vector<LaneValue>> LaneValues::evaluate(
    const BodyGraph& graph, const std::vector<LaneValue>& operands,
    const std::optional<BodyDetour>& left_out) {
  std::vector<LaneValue> values(graph.nodes.size());
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const BodyNode& node = graph.nodes[id];
    if (node.prim == Prim::kConstant) {
      values[id] = known(node.kind, node.bits);
    } else if (node.prim == Prim::kArgument) {
      values[id] = operands[node.bits];
    } else if (left_out && left_out->condition == id) {
      values[id] = known(Kind::kBool, !left_out->when);
    } else {
      std::optional<LaneValue> value =
          apply(node.prim, node.kind, values[node.in[0]], values[node.in[1]], values[node.in[2]]);
      if (!value) return std::nullopt;
      values[id] = *value;
    }
  }
  return values;
}

// Written twice: without the detour, and with it where some lane makes it.
std::optional<LaneValue> LaneValues::apply_both(const BodyGraph& graph,
                                                const std::vector<LaneValue>& operands,
                                                const LaneValue& condition) {
  int64_t all = (int64_t{1} << width) - 1, whole = code_.label(), end = code_.label();
  Reg taken = emit_general(Code::kGAnd, signs(condition.reg), kNone, kNone, all);
  code_.insts.push_back({.code = Code::kJumpIf,
                         .condition = Condition::kNotEqual,
                         .a = taken,
                         .imm = whole,
                         .value = graph.detour->when ? 0 : all});
  Reg result = code_.fresh(true);
  auto write = [&](const std::optional<BodyDetour>& left_out) {
    std::optional<std::vector<LaneValue>> values = evaluate(graph, operands, left_out);
    if (!values) return false;
    Reg from = vector_of((*values)[graph.result]);
    code_.insts.push_back({.code = Code::kMove, .lanes = code_lanes(), .out = result, .a = from});
    return true;
  };
  if (!write(graph.detour)) return std::nullopt;
  code_.insts.push_back({.code = Code::kJump, .imm = end});
  code_.insts.push_back({.code = Code::kLabel, .imm = whole});
  if (!write(std::nullopt)) return std::nullopt;
  code_.insts.push_back({.code = Code::kLabel, .imm = end});
  bool same = std::all_of(operands.begin(), operands.end(),
                          [&](const LaneValue& operand) { return uniform(operand); });
  return vector(graph.nodes[graph.result].kind, result, same);
}

std::optional<LaneValue> LaneValues::apply(const BodyGraph& graph,
                                           const std::vector<LaneValue>& operands) {
  std::optional<std::vector<LaneValue>> values = evaluate(graph, operands);
  if (!values) return std::nullopt;
  // Of what has been written, only what the condition needs is kept then.
  if (graph.detour && (*values)[graph.detour->condition].form == Form::kVector)
    return apply_both(graph, operands, (*values)[graph.detour->condition]);
  return (*values)[graph.result];
}

}  // namespace tuff::cpu::native
