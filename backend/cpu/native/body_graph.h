// op.def's bodies as graphs of the processor's own operations.
//
// The text that the other files compile as C++ and the shaders as GLSL is read here once for each
// op and type: the same operations in the same order, so the same bits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/op.h"

namespace tuff::cpu::native {

// What a value of 32 bits is taken for; kBool is true or false.
enum class Kind : uint8_t { kFloat, kSigned, kUnsigned, kBool };

enum class Prim : uint8_t {
  kArgument,  // bits: its number
  kConstant,  // bits
  // Of floats.
  kAddF,
  kSubtractF,
  kMultiplyF,
  kDivideF,
  kSqrtF,
  kFloorF,
  kCeilF,
  kTruncF,
  kRoundF,
  kFmaF,
  kEqualF,
  kNotEqualF,
  kLessF,
  kLessEqualF,
  // Of integers; shifts by less than 32.
  kAdd,
  kSubtract,
  kMultiply,
  kHighSigned,
  kHighUnsigned,
  kDivideUnsigned,
  kShiftLeft,
  kShiftRight,
  kShiftRightSigned,
  kEqual,
  kLessSigned,
  kLessUnsigned,
  // Of integers and of bool.
  kAnd,
  kOr,
  kXor,
  kSelect,  // the first, a bool, says which
  kFloatFromSigned,
  kFloatFromUnsigned,
  kSignedFromFloat,
};
inline bool gives_bool(Prim prim) {
  switch (prim) {
    case Prim::kEqualF:
    case Prim::kNotEqualF:
    case Prim::kLessF:
    case Prim::kLessEqualF:
    case Prim::kEqual:
    case Prim::kLessSigned:
    case Prim::kLessUnsigned: return true;
    default: return false;
  }
}

struct BodyNode {
  Prim prim = Prim::kConstant;
  Kind kind = Kind::kFloat;
  std::array<uint16_t, 3> in{};
  uint32_t bits = 0;
  bool operator==(const BodyNode&) const = default;
};
int arity_of(Prim prim);

// Long arms of all selects by one condition: where no lane takes them, they need not be computed.
struct BodyDetour {
  uint16_t condition = 0;
  bool when = false;  // of the condition, where the arms are taken
};

struct BodyGraph {
  std::vector<BodyNode> nodes;  // each after those it uses
  uint16_t result = 0;
  std::optional<BodyDetour> detour;
};

// Null where the op has no such body, or one that cannot be read. Kept for the process.
const BodyGraph* body_graph(Op op, DType dtype);
// Of StableHLO's convert, not of floats of 16 bits.
const BodyGraph* convert_graph(DType from, DType to);

// What a value of the type is in a register; nothing where there is no code for it.
std::optional<Kind> kind_of(DType dtype);

}  // namespace tuff::cpu::native
