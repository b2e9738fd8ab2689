// Values of a few neighbouring lanes, as little of them as possible computed at run time.
#pragma once

#include <algorithm>
#include <optional>

#include "backend/cpu/native/body_graph.h"
#include "backend/cpu/native/index_forms.h"
#include "backend/cpu/native/known_results.h"
#include "backend/cpu/native/machine.h"

namespace tuff::cpu::native {

// A value of 32 bits in each lane.
//   kKnown: lane i has lanes[i]; a bool is 0 or 1
//   kBased: an integer, reg + lanes[i]; or a bool that all lanes share, 0 or 1
//   kVector: lane i of a vector register; a bool is all ones or all zeros
struct LaneValue {
  enum class Form : uint8_t { kKnown, kBased, kVector };
  Form form = Form::kKnown;
  Kind kind = Kind::kSigned;
  bool same = false;      // kVector: all lanes alike
  uint32_t multiple = 1;  // kBased: reg is a multiple of it
  Reg reg = kNone;
  Lanes lanes{};
};

// Of Code::kCompareF: whether one of the two is NaN.
inline constexpr int64_t kUnorderedPredicate = 3;

class LaneValues {
 public:
  explicit LaneValues(MachineCode& code) : width(code.width), code_(code) {}

  // How many lanes there are: 1, 2, 4, 8 or 16. Values from outside are alike in all of them.
  int width;

  static LaneValue known(Kind kind, uint32_t bits);
  static LaneValue based(Kind kind, Reg reg, uint32_t multiple = 1);
  LaneValue vector(Kind kind, Reg reg, bool same) const;
  // The lanes first, first + 1 ...
  static LaneValue counting(uint32_t first);

  bool uniform(const LaneValue& value) const;
  bool is_known(const LaneValue& value, uint32_t bits) const;
  // What every lane of an integer is a multiple of, as far as is known.
  uint32_t known_multiple(const LaneValue& value) const;
  // Uniform and known.
  std::optional<uint32_t> known_bits(const LaneValue& value) const;
  // A vector register or constant; a general register, of a uniform one.
  Reg vector_of(const LaneValue& value);
  Reg general_of(const LaneValue& value);

  // Nothing where there is no code for it.
  std::optional<LaneValue> apply(const BodyGraph& graph, const std::vector<LaneValue>& operands);
  std::optional<LaneValue> apply(Prim prim, Kind kind, const LaneValue& a, const LaneValue& b = {},
                                 const LaneValue& c = {});
  // Of floats: NaN where one is, and 0 is more than -0.
  LaneValue extreme(bool largest, const LaneValue& a, const LaneValue& b);
  // Of integers in vectors; nothing for others.
  std::optional<LaneValue> extreme_integer(bool largest, const LaneValue& a, const LaneValue& b);
  // A number with a sign by a known one of at least 2; nothing for others.
  std::optional<LaneValue> divide_signed(const LaneValue& a, const LaneValue& b);
  // A float without its fraction, as an integer between two bounds of at most 16 bits; of NaN, an
  // integer whose low 16 bits are 0.
  LaneValue bounded_integer(Kind kind, const LaneValue& a, int32_t least, int32_t most);
  // a / b for a >= 0 and b > 0.
  std::optional<LaneValue> divide_index(const LaneValue& a, const LaneValue& b);

  // out = a op b of vectors of the current width; or a register that already has it.
  Reg emit(Code code, Reg a, Reg b = kNone, Reg c = kNone, int64_t imm = 0);
  Reg emit_general(Code code, Reg a, Reg b = kNone, Reg c = kNone, int64_t imm = 0,
                   Condition condition = Condition::kEqual);
  // The sign bits of all lanes.
  Reg signs(Reg mask);
  // Lanes that all have these bits.
  Reg constant(uint32_t bits);
  uint8_t code_lanes() const { return static_cast<uint8_t>(std::max(width, 4)); }

 private:
  std::optional<LaneValue> fold(Prim prim, Kind kind, const LaneValue& a, const LaneValue& b,
                                const LaneValue& c) const;
  std::optional<LaneValue> simplify(Prim prim, Kind kind, const LaneValue& a, const LaneValue& b,
                                    const LaneValue& c);
  std::optional<LaneValue> sum(Prim prim, Kind kind, const LaneValue& a, const LaneValue& b);
  std::optional<LaneValue> in_general(Prim prim, Kind kind, const LaneValue& a, const LaneValue& b,
                                      const LaneValue& c);
  std::optional<LaneValue> extreme_of(const LaneValue& condition, const LaneValue& yes,
                                      const LaneValue& no);
  std::optional<Reg> in_vectors(Prim prim, const LaneValue& a, const LaneValue& b,
                                const LaneValue& c);
  Reg emit(Inst inst, bool vector);
  LaneValue with_form(LaneValue value, const IndexForm& form, const Inst& inst);
  std::optional<LaneValue> divided_exactly(const LaneValue& a, uint32_t divisor);
  void begin_straight_code();
  std::optional<uint32_t> same_bits(Reg reg) const;
  static constexpr uint32_t kMostWithoutSign = 0x80000000u;
  bool drops_sign(const Inst& inst) const;
  uint32_t most_of(Reg reg) const;
  bool keeps_all(Reg reg, Reg mask) const;
  Reg high_product(bool is_signed, Reg a, Reg b);
  Reg divided(Reg a, uint32_t divisor);
  Reg float_from_unsigned(Reg a);
  Reg divided_index(Reg a, uint32_t divisor);
  // The values of all nodes, or those where no lane makes the detour.
  std::optional<std::vector<LaneValue>> evaluate(const BodyGraph& graph,
                                                 const std::vector<LaneValue>& operands,
                                                 const std::optional<BodyDetour>& left_out = {});
  std::optional<LaneValue> apply_both(const BodyGraph& graph,
                                      const std::vector<LaneValue>& operands,
                                      const LaneValue& condition);

  MachineCode& code_;
  KnownResults results_;
  struct Less {
    LaneValue a, b;
  };
  std::map<Reg, Less> less_;  // what general registers say: a < b, of integers with a sign
  IndexForms forms_;
  size_t seen_ = 0;  // instructions that have been looked through for labels
};

}  // namespace tuff::cpu::native
