// Instructions of general registers.
#ifdef TUFF_HAS_XBYAK

#include <bit>

#include "backend/cpu/native/encoder.h"

namespace tuff::cpu::native {

// Into a register that is none of the sources', then to its place.
void Encoder::general_instruction(const Inst& inst) {
  auto imm = static_cast<int32_t>(inst.imm);
  switch (inst.code) {
    case Code::kGLoad: load_cell(inst); break;
    case Code::kGLoadByte: movzx(out_general(inst.out), byte[memory(inst).getRegExp()]); break;
    case Code::kGLoadPointer:
      mov(Reg64(out_general(inst.out).getIdx()), qword[memory(inst).getRegExp()]);
      break;
    case Code::kGStore: {
      if (size_of(inst.cell) == 2) {
        mov(eax, general(inst.c, Operand::RAX));
        mov(word[memory(inst).getRegExp()], ax);
        return;
      }
      Reg32 value = general(inst.c, Operand::RAX);
      mov(dword[memory(inst).getRegExp()], value);
      return;
    }
    case Code::kGStoreByte: {
      mov(eax, general(inst.c, Operand::RAX));
      mov(byte[memory(inst).getRegExp()], al);
      return;
    }
    case Code::kGContext: mov(out_general(inst.out), dword[rbx + imm]); break;
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
      if (inst.b == kNone) {
        divide_by(inst, static_cast<uint32_t>(imm));
        break;
      }
      mov(ecx, general(inst.b, Operand::RCX));
      mov(eax, general(inst.a, Operand::RAX));
      xor_(edx, edx);
      div(ecx);
      mov(out_general(inst.out), eax);
      break;
    case Code::kGMinimum:
    case Code::kGMaximum: {
      if (inst.b == kNone)
        mov(eax, static_cast<uint32_t>(imm));
      else
        mov(eax, general(inst.b, Operand::RAX));
      Reg32 first = general(inst.a, Operand::RCX);
      cmp(first, eax);
      if (inst.code == Code::kGMinimum)
        cmovl(eax, first);
      else
        cmovg(eax, first);
      mov(out_general(inst.out), eax);
      break;
    }
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

// By multiplication with the reciprocal, rounded up to 32 bits, which is exact for numbers of 31
// (Granlund and Montgomery, Division by invariant integers using multiplication).
void Encoder::divide_by(const Inst& inst, uint32_t divisor) {
  mov(eax, general(inst.a, Operand::RAX));
  const int bits = std::bit_width(divisor - 1);
  if (std::has_single_bit(divisor)) {
    shr(eax, bits);
  } else {
    mov(ecx, static_cast<uint32_t>((uint64_t{1} << (31 + bits)) / divisor + 1));
    imul(rax, rcx);
    shr(rax, 31 + bits);
  }
  mov(out_general(inst.out), eax);
}

// Extended to 32 bits; floats of 16 bits as they are.
void Encoder::load_cell(const Inst& inst) {
  Xbyak::RegExp from = memory(inst).getRegExp();
  Reg32 out = out_general(inst.out);
  switch (inst.cell) {
    case Cell::kI8: return movsx(out, byte[from]);
    case Cell::kBool:
    case Cell::kU8: return movzx(out, byte[from]);
    case Cell::kI16: return movsx(out, word[from]);
    case Cell::kU16:
    case Cell::kF16:
    case Cell::kBF16: return movzx(out, word[from]);
    default: return mov(out, dword[from]);
  }
}

// In the result's own register where the second operand is not in it.
void Encoder::arithmetic(const Inst& inst, int32_t imm) {
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

void Encoder::compare(const Inst& inst, int32_t imm) {
  Reg32 a = general(inst.a, Operand::RAX);
  if (inst.b == kNone)
    cmp(a, static_cast<uint32_t>(imm));
  else
    cmp(a, general(inst.b, Operand::RCX));
}
void Encoder::set(Condition condition) {
  switch (condition) {
    case Condition::kEqual: return sete(al);
    case Condition::kNotEqual: return setne(al);
    case Condition::kLess: return setl(al);
    case Condition::kLessEqual: return setle(al);
    case Condition::kBelow: return setb(al);
    default: return setbe(al);
  }
}

}  // namespace tuff::cpu::native

#endif
