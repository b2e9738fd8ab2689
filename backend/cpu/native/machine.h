// Code for x86-64 with AVX2 or AVX-512 whose registers have no number yet.
//
// A register is written in one straight line of code before it is read, or it is a variable of a
// loop. allocate.h gives each one of the processor's registers or a place on the stack, encode.h
// writes the bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace tuff::cpu::native {

// A general or a vector register by number, or a constant: of a vector's lanes in a vector's place
// (constant_id), in place of the last source only of a vector instruction or else loaded.
using Reg = int32_t;
inline constexpr Reg kNone = -1;
inline constexpr Reg constant_reg(size_t id) { return -2 - static_cast<Reg>(id); }
inline constexpr bool is_constant(Reg reg) { return reg < kNone; }
inline constexpr size_t constant_id(Reg reg) { return static_cast<size_t>(-2 - reg); }

// Of the widest vector; a narrower one has the first of them.
inline constexpr int kMostLanes = 16;
using Lanes = std::array<uint32_t, kMostLanes>;

enum class Code : uint8_t {
  // Vectors: out = a op b.
  kAddF,
  kSubtractF,
  kMultiplyF,
  kDivideF,
  kMaximumF,  // b where one is NaN or both are zeros
  kMinimumF,  // alike
  kAnd,
  kOr,
  kXor,
  kAdd,
  kSubtract,
  kMultiply,
  kMultiplyEvenUnsigned,  // 64 bits of the products of the even lanes
  kMultiplyEvenSigned,
  kShiftLeft,
  kShiftRight,
  kShiftRightSigned,
  kEqual,
  kGreater,
  kBelow,          // a < b of integers without a sign; not with AVX2
  kMaximumSigned,  // of integers
  kMinimumSigned,
  kMaximumUnsigned,
  kMinimumUnsigned,
  kMultiplyD,  // of doubles
  kAddD,
  kPermute,  // lane i is the lane of a that lane i of b says; 16 lanes or 8
  // With an immediate.
  kCompareF,    // a ? b by the predicate
  kBlendLanes,  // lane i of b where bit i of the immediate is set, else of a
  // out = op a, some with an immediate.
  kSqrtF,
  kRoundF,
  kShiftRightWide,  // 64-bit lanes
  kFloatFromSigned,
  kSignedFromFloat,
  kDoubleFromSigned,  // of half the lanes
  kSignedFromDouble,
  kLowHalf,  // as a vector of half the size
  kHighHalf,
  kSwap,  // lanes by the immediate, in each half
  kMove,
  kFloatFromHalf,  // of the low 16 bits; not with AVX2
  kHalfFromFloat,
  kRoundToHalf,  // the nearest float that has 16 bits; not with AVX2
  kBroadcast,    // lane 0 of a to all
  kJoin,         // the low halves of a and b
  kBlend,        // out = c ? a : b
  kFma,          // out = a * b + c
  // Between the two kinds: general a to all lanes; lane `imm` of a to general; sign bits.
  kSpread,
  kExtract,
  kSigns,
  // Memory at a + b * scale + imm. Vectors of `lanes` elements.
  kLoad,
  kStore,        // c
  kLoadSpread,   // one element for all lanes
  kLoadMasked,   // out = where c, else 0
  kStoreMasked,  // c where the register in `out` says so
  kGather,       // out = of 4 bytes at a + lane of b * 4, where c
  kLoadBools,    // bytes to masks
  kStoreBools,   // c
  // The same where a mask says so, c or the register in `out`; not with AVX2.
  kLoadBoolsMasked,
  kStoreBoolsMasked,
  // General registers of 32 bits: out = a op b, or the immediate where b is none.
  kGAdd,
  kGSubtract,
  kGMultiply,
  kGAnd,
  kGOr,
  kGXor,
  kGShiftLeft,
  kGShiftRight,
  kGShiftRightSigned,
  kGDivide,   // unsigned; by an immediate, of less than 2^31
  kGMinimum,  // of integers with a sign
  kGMaximum,
  kGCompare,  // out = a ? b by `condition`
  kGSelect,   // out = c ? a : b
  kGMove,     // out = a or the immediate
  kGWiden,    // 64 bits, with the sign
  kGContext,  // out = 4 bytes of the context at the immediate
  kGLoad,     // 4 bytes
  kGLoadByte,
  kGLoadPointer,
  kGStore,  // c, 4 bytes
  kGStoreByte,
  // Flow. `imm`: the number of a label.
  kLabel,
  kJump,
  kJumpIf,    // a ? b (or `value`) by `condition`
  kCallStep,  // the function of the context with `value`; the end, with what it gives, unless 0
  kCount,     // so many kernels more: `value`
};

// How an element lies in memory. A register has it in 32 bits, narrow integers extended, floats of
// 16 bits as floats.
enum class Cell : uint8_t { kWord, kBool, kI8, kU8, kI16, kU16, kF16, kBF16 };
inline constexpr int64_t size_of(Cell cell) {
  return cell == Cell::kWord ? 4 : cell <= Cell::kU8 ? 1 : 2;
}

enum class Condition : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kBelow, kBelowEqual };

struct Inst {
  Code code = Code::kLabel;
  uint8_t lanes = 8;  // of a vector: 16, 8, or up to 4
  uint8_t scale = 1;
  Condition condition = Condition::kEqual;
  Cell cell =
      Cell::kWord;  // of kLoad, kStore and their masked forms, with AVX-512; kGLoad, kGStore
  Reg out = kNone, a = kNone, b = kNone, c = kNone;
  int64_t imm = 0;
  int64_t value = 0;
};

// The registers that code finds: where memory begins (NativeContext::bases), and the stack with the
// code's own slots.
inline constexpr Reg kBases = 0, kStack = 1;

struct MachineCode {
  // How many lanes the processor's vectors have: 8 with AVX2, 16 with AVX-512.
  explicit MachineCode(int vector_lanes) : width(vector_lanes) {}

  int width;
  std::vector<Inst> insts;
  std::vector<bool> is_vector{false, false};  // by register
  std::vector<Lanes> constants;
  int64_t labels = 0;
  int64_t stack_bytes = 0;  // what the code itself asked for

  Reg fresh(bool vector) {
    is_vector.push_back(vector);
    return static_cast<Reg>(is_vector.size() - 1);
  }
  bool is_wide() const { return width == 16; }
  Reg constant(const Lanes& lanes) {
    auto [it, added] = constant_ids_.try_emplace(lanes, constants.size());
    if (added) constants.push_back(lanes);
    return constant_reg(it->second);
  }
  // Where the memory of that number begins (NativeContext::bases): loaded once in straight code.
  // Calls may give it another place.
  Reg base(int64_t number) {
    for (; seen_ < insts.size(); ++seen_)
      if (insts[seen_].code == Code::kLabel || insts[seen_].code == Code::kCallStep) bases_.clear();
    auto [it, added] = bases_.try_emplace(number, kNone);
    if (added) {
      it->second = fresh(false);
      insts.push_back(
          {.code = Code::kGLoadPointer, .out = it->second, .a = kBases, .imm = number * 8});
    }
    return it->second;
  }
  // Takes back what was written from this instruction on.
  void cut(size_t from) {
    insts.resize(from);
    bases_.clear();
    seen_ = std::min(seen_, from);
  }
  int64_t label() { return labels++; }
  int64_t stack_slot() { return (stack_bytes += 8) - 8; }

 private:
  std::map<Lanes, size_t> constant_ids_;
  std::map<int64_t, Reg> bases_;
  size_t seen_ = 0;  // instructions that have been looked through for what ends straight code
};

// Whether `out` is written. Nothing else is then, so the instruction may be left out if nobody
// reads what it gives.
bool writes_out(Code code);

}  // namespace tuff::cpu::native
