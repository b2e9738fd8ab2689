// The only file that knows Xbyak.
#include "backend/cpu/native/encode.h"

#ifdef TUFF_HAS_XBYAK

#include <xbyak/xbyak.h>

#include <algorithm>
#include <cstring>

#include "backend/cpu/native/native_context.h"

namespace tuff::cpu::native {

namespace {

using Xbyak::Address;
using Xbyak::Label;
using Xbyak::Operand;
using Xbyak::Reg32;
using Xbyak::Reg64;
using Xbyak::RegExp;
using Xbyak::Xmm;
using Xbyak::Ymm;
using G = Xbyak::CodeGenerator;

using Three = void (G::*)(const Xmm&, const Operand&, const Operand&);
struct ThreeRow {
  Code code;
  Three emit;
  bool commutes;
};
constexpr ThreeRow kThree[] = {
    {Code::kAddF, &G::vaddps, true},      {Code::kSubtractF, &G::vsubps, false},
    {Code::kMultiplyF, &G::vmulps, true}, {Code::kDivideF, &G::vdivps, false},
    {Code::kAnd, &G::vandps, true},       {Code::kOr, &G::vorps, true},
    {Code::kXor, &G::vxorps, true},       {Code::kMultiplyD, &G::vmulpd, true},
    {Code::kAddD, &G::vaddpd, true},
};
using ThreeVectors = void (G::*)(const Xmm&, const Xmm&, const Operand&);
struct ThreeVectorsRow {
  Code code;
  ThreeVectors emit;
  bool commutes;
};
constexpr ThreeVectorsRow kThreeVectors[] = {
    {Code::kAdd, &G::vpaddd, true},
    {Code::kSubtract, &G::vpsubd, false},
    {Code::kMultiply, &G::vpmulld, true},
    {Code::kMultiplyEvenUnsigned, &G::vpmuludq, true},
    {Code::kMultiplyEvenSigned, &G::vpmuldq, true},
    {Code::kShiftLeft, &G::vpsllvd, false},
    {Code::kShiftRight, &G::vpsrlvd, false},
    {Code::kShiftRightSigned, &G::vpsravd, false},
    {Code::kEqual, &G::vpcmpeqd, true},
    {Code::kGreater, &G::vpcmpgtd, false},
};

// The longest instruction that one of ours becomes, in bytes.
constexpr size_t kLongest = 96;

class Encoder : public G {
 public:
  Encoder(const MachineCode& code, const Allocation& allocation, std::vector<std::byte>& bytes)
      : G(bytes.size(), bytes.data()),
        code_(code),
        allocation_(allocation),
        labels_(static_cast<size_t>(code.labels)),
        constants_(code.constants.size()) {}

  size_t write() {
    begin();
    for (const Inst& inst : code_.insts) instruction(inst);
    end();
    while (getSize() % 32 != 0) int3();
    for (size_t i = 0; i < constants_.size(); ++i) {
      L(constants_[i]);
      for (uint32_t lane : code_.constants[i]) dd(lane);
    }
    return getSize();
  }

 private:
  static constexpr int kSaved[] = {Operand::RBP, Operand::RBX, Operand::R12,
                                   Operand::R13, Operand::R14, Operand::R15};

  // The old stack pointer lies under the code's own slots, which are aligned for vectors.
  void begin() {
    for (int number : kSaved) push(Reg64(number));
    mov(rbx, rdi);
    mov(r15, ptr[rbx + static_cast<int>(offsetof(NativeContext, bases))]);
    mov(rax, rsp);
    frame_bytes_ = (allocation_.stack_bytes + 32 + 31) / 32 * 32;
    sub(rsp, static_cast<uint32_t>(frame_bytes_));
    and_(rsp, -32);
    mov(ptr[rsp + static_cast<int>(frame_bytes_ - 8)], rax);
  }
  // Code falls through with 0; a step that failed jumps to the last label with what it gave.
  void end() {
    xor_(eax, eax);
    L(failed_);
    vzeroupper();
    mov(rsp, ptr[rsp + static_cast<int>(frame_bytes_ - 8)]);
    for (size_t i = std::size(kSaved); i-- > 0;) pop(Reg64(kSaved[i]));
    ret();
  }

  const Place& place(Reg reg) const { return allocation_.places[static_cast<size_t>(reg)]; }
  Address slot(Reg reg) { return ptr[rsp + static_cast<int>(place(reg).offset)]; }
  static Xmm vector(int number, bool wide) { return wide ? Xmm(Ymm(number)) : Xmm(number); }

  // A vector in a register: its own, or a scratch one that is loaded.
  Xmm in_vector(Reg reg, bool wide, int scratch) {
    if (!is_constant(reg) && place(reg).in_register) return sized(place(reg).number, wide);
    Xmm to = sized(kVectorRegisters + scratch, wide);
    vmovups(to, is_constant(reg) ? ptr[rip + constants_[constant_id(reg)]] : slot(reg));
    return to;
  }
  static Xmm sized(int number, bool wide) {
    if (wide) return Ymm(number);
    return Xmm(number);
  }
  Xmm out_vector(Reg reg, bool wide) {
    return sized(place(reg).in_register ? place(reg).number : kVectorRegisters, wide);
  }
  void put_vector(Reg reg, const Xmm& from) {
    if (!place(reg).in_register) vmovups(slot(reg), from);
  }
  // Calls use(operand) with a register or the memory that an operand lies in.
  template <typename Use>
  void with_operand(Reg reg, bool wide, const Use& use) {
    if (is_constant(reg))
      use(ptr[rip + constants_[constant_id(reg)]]);
    else if (place(reg).in_register)
      use(sized(place(reg).number, wide));
    else
      use(slot(reg));
  }

  int general_number(Reg reg, int scratch, bool load = true) {
    if (reg == kBases) return Operand::R15;
    if (reg == kStack) return Operand::RSP;
    if (place(reg).in_register) return place(reg).number;
    if (load) mov(Reg64(scratch), slot(reg));
    return scratch;
  }
  Reg32 general(Reg reg, int scratch) { return Reg32(general_number(reg, scratch)); }
  Reg32 out_general(Reg reg) { return Reg32(general_number(reg, Operand::RAX, false)); }
  void put_general(Reg reg) {
    if (!place(reg).in_register) mov(slot(reg), rax);
  }

  // a + b * scale + imm; takes rcx and rdx.
  Address memory(const Inst& inst) {
    RegExp at = Reg64(general_number(inst.a, Operand::RCX));
    if (inst.b != kNone) at = at + Reg64(general_number(inst.b, Operand::RDX)) * inst.scale;
    return ptr[at + static_cast<int>(inst.imm)];
  }

  template <typename Row>
  bool three(const Row& row, const Inst& inst) {
    if (row.code != inst.code) return false;
    bool wide = inst.lanes == 8;
    Reg a = inst.a, b = inst.b;
    auto lies = [&](Reg reg) { return is_constant(reg) || !place(reg).in_register; };
    if (row.commutes && lies(a) && !lies(b)) std::swap(a, b);
    Xmm first = in_vector(a, wide, 1), out = out_vector(inst.out, wide);
    with_operand(b, wide, [&](const Operand& second) { (this->*row.emit)(out, first, second); });
    put_vector(inst.out, out);
    return true;
  }

  void instruction(const Inst& inst) {
    for (const ThreeRow& row : kThree)
      if (three(row, inst)) return;
    for (const ThreeVectorsRow& row : kThreeVectors)
      if (three(row, inst)) return;
    if (inst.code <= Code::kFma) return vector_instruction(inst);
    if (inst.code <= Code::kSigns) return between_kinds(inst);
    if (inst.code <= Code::kStoreBools) return vector_memory(inst);
    if (inst.code <= Code::kGStoreByte) return general_instruction(inst);
    flow(inst);
  }

  void vector_instruction(const Inst& inst) {
    bool wide = inst.lanes == 8;
    auto imm = static_cast<uint8_t>(inst.imm);
    Xmm out = out_vector(inst.out, wide);
    Xmm low = Xmm(out.getIdx());
    auto unary = [&](const auto& emit) { with_operand(inst.a, wide, emit); };
    switch (inst.code) {
      case Code::kCompareF: {
        Xmm a = in_vector(inst.a, wide, 1);
        with_operand(inst.b, wide, [&](const Operand& b) { vcmpps(out, a, b, imm); });
        break;
      }
      case Code::kBlendLanes: {
        Xmm a = in_vector(inst.a, wide, 1);
        with_operand(inst.b, wide, [&](const Operand& b) { vpblendd(out, a, b, imm); });
        break;
      }
      case Code::kSqrtF: unary([&](const Operand& a) { vsqrtps(out, a); }); break;
      case Code::kRoundF: unary([&](const Operand& a) { vroundps(out, a, imm); }); break;
      case Code::kShiftRightWide: vpsrlq(out, in_vector(inst.a, wide, 1), imm); break;
      case Code::kFloatFromSigned: unary([&](const Operand& a) { vcvtdq2ps(out, a); }); break;
      case Code::kSignedFromFloat: unary([&](const Operand& a) { vcvttps2dq(out, a); }); break;
      case Code::kDoubleFromSigned:
        vcvtdq2pd(Ymm(out.getIdx()), Xmm(in_vector(inst.a, false, 1).getIdx()));
        out = Ymm(out.getIdx());
        break;
      case Code::kSignedFromDouble:
        vcvttpd2dq(low, Ymm(in_vector(inst.a, true, 1).getIdx()));
        out = low;
        break;
      case Code::kLowHalf: {
        Xmm a = in_vector(inst.a, false, 1);
        if (a.getIdx() != low.getIdx()) vmovaps(low, a);
        out = low;
        break;
      }
      case Code::kHighHalf:
        vextracti128(low, Ymm(in_vector(inst.a, true, 1).getIdx()), 1);
        out = low;
        break;
      case Code::kSwap: unary([&](const Operand& a) { vpshufd(out, a, imm); }); break;
      case Code::kMove: unary([&](const Operand& a) { vmovups(out, a); }); break;
      case Code::kBroadcast:
        out = Ymm(out.getIdx());
        vpbroadcastd(out, Xmm(in_vector(inst.a, false, 1).getIdx()));
        break;
      case Code::kJoin: {
        Ymm a(in_vector(inst.a, false, 1).getIdx());
        Xmm b(in_vector(inst.b, false, 2).getIdx());
        out = Ymm(out.getIdx());
        vinserti128(Ymm(out.getIdx()), a, b, 1);
        break;
      }
      case Code::kBlend: {
        // Of masks of ones and zeros, in less time than vblendvps takes.
        Xmm mask = in_vector(inst.c, wide, 2), taken = sized(kVectorRegisters + 1, wide);
        Xmm left = sized(kVectorRegisters, wide);
        with_operand(inst.a, wide, [&](const Operand& yes) { vandps(taken, mask, yes); });
        with_operand(inst.b, wide, [&](const Operand& no) { vandnps(left, mask, no); });
        vorps(out, taken, left);
        break;
      }
      default: {  // kFma
        // A sum that goes on is in its place.
        bool goes_on = inst.out == inst.c && place(inst.out).in_register;
        if (goes_on) {
          Xmm factor = in_vector(inst.a, wide, 1);
          with_operand(inst.b, wide, [&](const Operand& b) { vfmadd231ps(out, factor, b); });
          break;
        }
        Xmm sum = sized(kVectorRegisters, wide);
        Xmm a = in_vector(inst.a, wide, 1);
        with_operand(inst.c, wide, [&](const Operand& c) { vmovups(sum, c); });
        with_operand(inst.b, wide, [&](const Operand& b) { vfmadd231ps(sum, a, b); });
        vmovaps(out, sum);
        break;
      }
    }
    put_vector(inst.out, out);
  }

  void between_kinds(const Inst& inst) {
    if (inst.code == Code::kSpread) {
      Xmm out = out_vector(inst.out, true);
      vmovd(Xmm(out.getIdx()), general(inst.a, Operand::RAX));
      vpbroadcastd(out, Xmm(out.getIdx()));
      return put_vector(inst.out, out);
    }
    Reg32 out = out_general(inst.out);
    if (inst.code == Code::kSigns) {
      vmovmskps(out, in_vector(inst.a, inst.lanes == 8, 1));
    } else if (inst.imm == 0) {
      vmovd(out, Xmm(in_vector(inst.a, false, 1).getIdx()));
    } else if (inst.imm < 4) {
      vpextrd(out, Xmm(in_vector(inst.a, false, 1).getIdx()), static_cast<uint8_t>(inst.imm));
    } else {
      Xmm high(kVectorRegisters);
      vextracti128(high, Ymm(in_vector(inst.a, true, 1).getIdx()), 1);
      vpextrd(out, high, static_cast<uint8_t>(inst.imm - 4));
    }
    put_general(inst.out);
  }

  void vector_memory(const Inst& inst) {
    bool wide = inst.lanes == 8;
    switch (inst.code) {
      case Code::kLoad: {
        Xmm out = out_vector(inst.out, wide);
        Address from = memory(inst);
        if (inst.lanes >= 4)
          vmovups(out, from);
        else if (inst.lanes == 2)
          vmovq(out, from);
        else
          vmovss(out, from);
        return put_vector(inst.out, out);
      }
      case Code::kStore: {
        Xmm value = in_vector(inst.c, wide, 1);
        Address to = memory(inst);
        if (inst.lanes >= 4)
          vmovups(to, value);
        else if (inst.lanes == 2)
          vmovq(to, value);
        else
          vmovss(to, value);
        return;
      }
      case Code::kLoadSpread: {
        Xmm out = out_vector(inst.out, true);
        vbroadcastss(out, memory(inst));
        return put_vector(inst.out, out);
      }
      case Code::kLoadMasked: {
        Xmm out = out_vector(inst.out, wide);
        vmaskmovps(out, in_vector(inst.c, wide, 1), memory(inst));
        return put_vector(inst.out, out);
      }
      case Code::kStoreMasked:
        return vmaskmovps(memory(inst), in_vector(inst.out, wide, 2), in_vector(inst.c, wide, 1));
      case Code::kGather: return gather(inst, wide);
      case Code::kLoadBools: return load_bools(inst, wide);
      default: return store_bools(inst, wide);
    }
  }

  // The mask is used up, and the three registers differ.
  void gather(const Inst& inst, bool wide) {
    Xmm out = sized(kVectorRegisters, wide), mask = sized(kVectorRegisters + 2, wide);
    Xmm index = in_vector(inst.b, wide, 1);
    with_operand(inst.c, wide, [&](const Operand& c) { vmovups(mask, c); });
    vxorps(out, out, out);
    Reg64 base(general_number(inst.a, Operand::RCX));
    if (wide)
      vpgatherdd(out, ptr[base + Ymm(index.getIdx()) * 4 + static_cast<int>(inst.imm)], mask);
    else
      vpgatherdd(out, ptr[base + Xmm(index.getIdx()) * 4 + static_cast<int>(inst.imm)], mask);
    if (place(inst.out).in_register) vmovaps(sized(place(inst.out).number, wide), out);
    put_vector(inst.out, out);
  }

  void load_bools(const Inst& inst, bool wide) {
    Xmm out = out_vector(inst.out, wide), low(out.getIdx());
    Address from = memory(inst);
    if (wide) {
      vmovq(low, from);
    } else if (inst.lanes == 4) {
      vmovd(low, from);
    } else {
      if (inst.lanes == 2) {
        movzx(eax, word[from.getRegExp()]);
      } else {
        movzx(eax, byte[from.getRegExp()]);
      }
      vmovd(low, eax);
    }
    vpmovzxbd(out, low);
    Xmm zero = sized(kVectorRegisters + 1, wide);
    vpxor(zero, zero, zero);
    vpcmpgtd(out, out, zero);
    put_vector(inst.out, out);
  }

  void store_bools(const Inst& inst, bool wide) {
    Xmm value = in_vector(inst.c, wide, 1), packed(kVectorRegisters), ones(kVectorRegisters + 2);
    if (wide) {
      vextracti128(packed, Ymm(value.getIdx()), 1);
      vpackssdw(packed, Xmm(value.getIdx()), packed);
    } else {
      vpackssdw(packed, value, value);
    }
    vpacksswb(packed, packed, packed);
    vpabsb(packed, packed);
    Address to = memory(inst);
    if (inst.lanes >= 4) {
      wide ? vmovq(to, packed) : vmovd(to, packed);
      return;
    }
    vmovd(eax, packed);
    if (inst.lanes == 2)
      mov(word[to.getRegExp()], ax);
    else
      mov(byte[to.getRegExp()], al);
  }

  // Into a register that is none of the sources', then to its place.
  void general_instruction(const Inst& inst) {
    auto imm = static_cast<int32_t>(inst.imm);
    switch (inst.code) {
      case Code::kGLoad: mov(out_general(inst.out), dword[memory(inst).getRegExp()]); break;
      case Code::kGLoadByte: movzx(out_general(inst.out), byte[memory(inst).getRegExp()]); break;
      case Code::kGLoadPointer:
        mov(Reg64(out_general(inst.out).getIdx()), qword[memory(inst).getRegExp()]);
        break;
      case Code::kGStore: {
        Reg32 value = general(inst.c, Operand::RAX);
        mov(dword[memory(inst).getRegExp()], value);
        return;
      }
      case Code::kGStoreByte: {
        mov(eax, general(inst.c, Operand::RAX));
        mov(byte[memory(inst).getRegExp()], al);
        return;
      }
      case Code::kGRounds:
        mov(out_general(inst.out), dword[rbx + static_cast<int>(offsetof(NativeContext, rounds))]);
        break;
      case Code::kGWiden:
        movsxd(Reg64(out_general(inst.out).getIdx()), general(inst.a, Operand::RCX));
        break;
      case Code::kGMove:
        if (inst.a == kNone)
          mov(out_general(inst.out), static_cast<uint32_t>(imm));
        else
          mov(out_general(inst.out), general(inst.a, Operand::RAX));
        break;
      case Code::kGDivide:
        mov(ecx, general(inst.b, Operand::RCX));
        mov(eax, general(inst.a, Operand::RAX));
        xor_(edx, edx);
        div(ecx);
        mov(out_general(inst.out), eax);
        break;
      case Code::kGCompare: {
        compare(inst, imm);
        set(inst.condition);
        movzx(eax, al);
        mov(out_general(inst.out), eax);
        break;
      }
      case Code::kGSelect: {
        Reg32 condition = general(inst.c, Operand::RCX);
        mov(eax, general(inst.b, Operand::RAX));
        test(condition, condition);
        cmovne(eax, general(inst.a, Operand::RDX));
        mov(out_general(inst.out), eax);
        break;
      }
      default: arithmetic(inst, imm); break;
    }
    put_general(inst.out);
  }

  // In the result's own register where the second operand is not in it.
  void arithmetic(const Inst& inst, int32_t imm) {
    bool plain = inst.b == kNone;
    bool shift = inst.code >= Code::kGShiftLeft && inst.code <= Code::kGShiftRightSigned;
    Reg32 second = ecx;
    if (!plain) second = general(inst.b, Operand::RCX);
    if (!plain && shift && second.getIdx() != Operand::RCX) {
      mov(ecx, second);
      second = ecx;
    }
    Reg32 to = out_general(inst.out);
    if (!plain && to.getIdx() == second.getIdx()) to = eax;
    Reg32 first = general(inst.a, to.getIdx());
    if (first.getIdx() != to.getIdx()) mov(to, first);
    auto value = static_cast<uint32_t>(imm);
    switch (inst.code) {
      case Code::kGAdd: plain ? add(to, value) : add(to, second); break;
      case Code::kGSubtract: plain ? sub(to, value) : sub(to, second); break;
      case Code::kGMultiply: plain ? imul(to, to, imm) : imul(to, second); break;
      case Code::kGAnd: plain ? and_(to, value) : and_(to, second); break;
      case Code::kGOr: plain ? or_(to, value) : or_(to, second); break;
      case Code::kGXor: plain ? xor_(to, value) : xor_(to, second); break;
      case Code::kGShiftLeft: plain ? shl(to, imm) : shl(to, cl); break;
      case Code::kGShiftRight: plain ? shr(to, imm) : shr(to, cl); break;
      default: plain ? sar(to, imm) : sar(to, cl); break;
    }
    Reg32 out = out_general(inst.out);
    if (out.getIdx() != to.getIdx()) mov(out, to);
  }

  void compare(const Inst& inst, int32_t imm) {
    Reg32 a = general(inst.a, Operand::RAX);
    if (inst.b == kNone)
      cmp(a, static_cast<uint32_t>(imm));
    else
      cmp(a, general(inst.b, Operand::RCX));
  }
  void set(Condition condition) {
    switch (condition) {
      case Condition::kEqual: return sete(al);
      case Condition::kNotEqual: return setne(al);
      case Condition::kLess: return setl(al);
      case Condition::kLessEqual: return setle(al);
      case Condition::kBelow: return setb(al);
      default: return setbe(al);
    }
  }

  void flow(const Inst& inst) {
    auto number = static_cast<size_t>(inst.imm);
    switch (inst.code) {
      case Code::kLabel: return L(labels_[number]);
      case Code::kJump: return jmp(labels_[number], T_NEAR);
      case Code::kJumpIf:
        compare(inst, static_cast<int32_t>(inst.value));
        return jump(inst.condition, labels_[number]);
      case Code::kCount:
        return add(qword[rbx + static_cast<int>(offsetof(NativeContext, dispatches))],
                   static_cast<uint32_t>(inst.value));
      default:  // kCallStep
        vzeroupper();
        mov(rdi, rbx);
        mov(rsi, inst.value);
        call(ptr[rbx + static_cast<int>(offsetof(NativeContext, run_step))]);
        test(rax, rax);
        return jne(failed_, T_NEAR);
    }
  }
  void jump(Condition condition, const Label& to) {
    switch (condition) {
      case Condition::kEqual: return je(to, T_NEAR);
      case Condition::kNotEqual: return jne(to, T_NEAR);
      case Condition::kLess: return jl(to, T_NEAR);
      case Condition::kLessEqual: return jle(to, T_NEAR);
      case Condition::kBelow: return jb(to, T_NEAR);
      default: return jbe(to, T_NEAR);
    }
  }

  const MachineCode& code_;
  const Allocation& allocation_;
  std::vector<Label> labels_, constants_;
  Label failed_;
  int64_t frame_bytes_ = 0;
};

}  // namespace

bool can_encode() { return true; }

std::vector<std::byte> encode(const MachineCode& code, const Allocation& allocation) {
  std::vector<std::byte> bytes(code.insts.size() * kLongest + code.constants.size() * 32 + 4096);
  try {
    size_t size = Encoder(code, allocation, bytes).write();
    bytes.resize(size);
  } catch (const Xbyak::Error&) {
    bytes.clear();
  }
  return bytes;
}

}  // namespace tuff::cpu::native

#else

namespace tuff::cpu::native {

bool can_encode() { return false; }
std::vector<std::byte> encode(const MachineCode&, const Allocation&) { return {}; }

}  // namespace tuff::cpu::native

#endif
