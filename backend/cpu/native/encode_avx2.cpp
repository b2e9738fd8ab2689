// Instructions as AVX2 has them: bools are masks of ones and zeros in vectors.
#ifdef TUFF_HAS_XBYAK

#include "backend/cpu/native/encoder.h"

namespace tuff::cpu::native {

using Xbyak::Operand;
using Xbyak::Xmm;
using Xbyak::Ymm;

bool Encoder::avx2_instruction(const Inst& inst) {
  auto imm = static_cast<uint8_t>(inst.imm);
  int lanes = inst.lanes;
  switch (inst.code) {
    case Code::kLoadMasked: {
      Xmm out = out_vector(inst.out, lanes), mask = in_vector(inst.c, lanes, 1);
      vmaskmovps(out, mask, memory(inst));
      put_vector(inst.out, out);
      return true;
    }
    case Code::kStoreMasked: {
      Xmm mask = in_vector(inst.out, lanes, 2), value = in_vector(inst.c, lanes, 1);
      vmaskmovps(memory(inst), mask, value);
      return true;
    }
    case Code::kGather: gather_avx2(inst); return true;
    case Code::kLoadBools: load_bools_avx2(inst); return true;
    case Code::kStoreBools: store_bools_avx2(inst); return true;
    case Code::kSigns:
      vmovmskps(out_general(inst.out), in_vector(inst.a, lanes, 1));
      put_general(inst.out);
      return true;
    case Code::kExtract: {
      if (imm == 0) return false;
      Reg32 out = out_general(inst.out);
      Xmm from = in_vector(inst.a, imm < 4 ? 4 : 8, 1);
      if (imm >= 4) {
        vextracti128(scratch(0, 4), Ymm(from.getIdx()), 1);
        from = scratch(0, 4);
      }
      vpextrd(out, Xmm(from.getIdx()), imm % 4);
      put_general(inst.out);
      return true;
    }
    default: break;
  }
  if (inst.code > Code::kFma) return false;
  Xmm out = out_vector(inst.out, lanes);
  auto with_b = [&](const auto& emit) {
    Xmm a = in_vector(inst.a, lanes, 1);
    with_operand(inst.b, lanes, [&](const Operand& b) { emit(a, b); });
  };
  switch (inst.code) {
    case Code::kEqual: with_b([&](const Xmm& a, const Operand& b) { vpcmpeqd(out, a, b); }); break;
    case Code::kGreater:
      with_b([&](const Xmm& a, const Operand& b) { vpcmpgtd(out, a, b); });
      break;
    case Code::kCompareF:
      with_b([&](const Xmm& a, const Operand& b) { vcmpps(out, a, b, imm); });
      break;
    case Code::kBlendLanes:
      with_b([&](const Xmm& a, const Operand& b) { vpblendd(out, a, b, imm); });
      break;
    case Code::kRoundF:
      with_operand(inst.a, lanes, [&](const Operand& a) { vroundps(out, a, imm); });
      break;
    case Code::kHighHalf:
      out = Xmm(out.getIdx());
      vextracti128(out, Ymm(in_vector(inst.a, lanes, 1).getIdx()), 1);
      break;
    case Code::kJoin:
      vinserti128(Ymm(out.getIdx()), Ymm(in_vector(inst.a, 4, 1).getIdx()), in_vector(inst.b, 4, 2),
                  1);
      break;
    case Code::kBlend: {
      // In less time than vblendvps takes.
      Xmm mask = in_vector(inst.c, lanes, 2), taken = scratch(1, lanes), left = scratch(0, lanes);
      with_operand(inst.a, lanes, [&](const Operand& yes) { vandps(taken, mask, yes); });
      with_operand(inst.b, lanes, [&](const Operand& no) { vandnps(left, mask, no); });
      vorps(out, taken, left);
      break;
    }
    default: return false;
  }
  put_vector(inst.out, out);
  return true;
}

// The mask is used up, and the three registers differ.
void Encoder::gather_avx2(const Inst& inst) {
  int lanes = inst.lanes;
  Xmm out = scratch(0, lanes), mask = scratch(2, lanes);
  Xmm index = in_vector(inst.b, lanes, 1);
  with_operand(inst.c, lanes, [&](const Operand& c) { vmovups(mask, c); });
  vxorps(out, out, out);
  Reg64 base(general_number(inst.a, Operand::RCX));
  vpgatherdd(out, ptr[base + index * 4 + static_cast<int>(inst.imm)], mask);
  if (place(inst.out).in_register) vmovaps(out_vector(inst.out, lanes), out);
  put_vector(inst.out, out);
}

void Encoder::load_bools_avx2(const Inst& inst) {
  Xmm out = out_vector(inst.out, inst.lanes), low(out.getIdx());
  Address from = memory(inst);
  if (inst.lanes == 8) {
    vmovq(low, from);
  } else if (inst.lanes == 4) {
    vmovd(low, from);
  } else {
    if (inst.lanes == 2)
      movzx(eax, word[from.getRegExp()]);
    else
      movzx(eax, byte[from.getRegExp()]);
    vmovd(low, eax);
  }
  vpmovzxbd(out, low);
  Xmm zero = scratch(1, inst.lanes);
  vpxor(zero, zero, zero);
  vpcmpgtd(out, out, zero);
  put_vector(inst.out, out);
}

void Encoder::store_bools_avx2(const Inst& inst) {
  Xmm value = in_vector(inst.c, inst.lanes, 1), packed = scratch(0, 4);
  if (inst.lanes == 8) {
    vextracti128(packed, Ymm(value.getIdx()), 1);
    vpackssdw(packed, Xmm(value.getIdx()), packed);
  } else {
    vpackssdw(packed, value, value);
  }
  vpacksswb(packed, packed, packed);
  vpabsb(packed, packed);
  Address to = memory(inst);
  if (inst.lanes == 8) return vmovq(to, packed);
  if (inst.lanes == 4) return vmovd(to, packed);
  vmovd(eax, packed);
  if (inst.lanes == 2)
    mov(word[to.getRegExp()], ax);
  else
    mov(byte[to.getRegExp()], al);
}

}  // namespace tuff::cpu::native

#endif
