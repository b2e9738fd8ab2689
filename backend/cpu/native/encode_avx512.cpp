// Instructions as AVX-512 has them. Bools are masks of ones and zeros in vectors, too: opmasks are
// made of them where they are used.
#ifdef TUFF_HAS_XBYAK

#include "backend/cpu/native/encoder.h"

namespace tuff::cpu::native {

using Xbyak::Operand;
using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::Zmm;

bool Encoder::avx512_instruction(const Inst& inst) {
  auto imm = static_cast<uint8_t>(inst.imm);
  int lanes = inst.lanes;
  auto with_b = [&](const auto& emit) {
    Xmm a = in_vector(inst.a, lanes, 1);
    with_operand(inst.b, lanes, [&](const Operand& b) { emit(a, b); });
  };
  switch (inst.code) {
    case Code::kEqual:
      with_b([&](const Xmm& a, const Operand& b) { vpcmpeqd(k1, a, b); });
      mask_to(inst.out, lanes);
      return true;
    case Code::kGreater:
      with_b([&](const Xmm& a, const Operand& b) { vpcmpgtd(k1, a, b); });
      mask_to(inst.out, lanes);
      return true;
    case Code::kCompareF:
      with_b([&](const Xmm& a, const Operand& b) { vcmpps(k1, a, b, imm); });
      mask_to(inst.out, lanes);
      return true;
    case Code::kLoadBools: {
      Xmm out = out_vector(inst.out, lanes);
      load_bytes(out, inst);
      vptestmd(k1, out, out);
      mask_to(inst.out, lanes);
      return true;
    }
    case Code::kStoreBools:
    case Code::kLoadMasked:
    case Code::kStoreMasked:
    case Code::kLoadBoolsMasked:
    case Code::kStoreBoolsMasked: masked_memory(inst); return true;
    case Code::kGather: gather_avx512(inst); return true;
    case Code::kSigns:
      mask_from(inst.a, lanes);
      kmovw(out_general(inst.out), k1);
      put_general(inst.out);
      return true;
    case Code::kExtract: extract_avx512(inst); return true;
    default: break;
  }
  if (inst.code > Code::kFma) return false;
  Xmm out = out_vector(inst.out, lanes);
  switch (inst.code) {
    case Code::kBlendLanes:
      mov(eax, static_cast<uint32_t>(inst.imm));
      kmovw(k1, eax);
      with_b([&](const Xmm& a, const Operand& b) { vpblendmd(out | k1, a, b); });
      break;
    case Code::kRoundF:
      with_operand(inst.a, lanes, [&](const Operand& a) { vrndscaleps(out, a, imm); });
      break;
    case Code::kHighHalf: {
      Xmm a = in_vector(inst.a, lanes, 1);
      out = sized(out.getIdx(), lanes / 2);
      if (lanes == 16)
        vextracti32x8(out, Zmm(a.getIdx()), 1);
      else
        vextracti32x4(out, Ymm(a.getIdx()), 1);
      break;
    }
    case Code::kJoin: {
      Xmm a = in_vector(inst.a, lanes / 2, 1), b = in_vector(inst.b, lanes / 2, 2);
      if (lanes == 16)
        vinserti32x8(Zmm(out.getIdx()), Zmm(a.getIdx()), b, 1);
      else
        vinserti32x4(Ymm(out.getIdx()), Ymm(a.getIdx()), b, 1);
      break;
    }
    case Code::kBlend: {
      constexpr uint8_t kChoose = 0xca;  // the first operand says which of the others
      with_operand(inst.c, lanes, [&](const Operand& c) { vmovups(out, c); });
      with_b([&](const Xmm& a, const Operand& b) { vpternlogd(out, a, b, kChoose); });
      break;
    }
    default: return false;
  }
  put_vector(inst.out, out);
  return true;
}

// k1 as a vector.
void Encoder::mask_to(Reg reg, int lanes) {
  Xmm out = out_vector(reg, lanes);
  vpmovm2d(out, k1);
  put_vector(reg, out);
}

// A vector in k1.
void Encoder::mask_from(Reg mask, int lanes) { vpmovd2m(k1, in_vector(mask, lanes, 2)); }

void Encoder::load_bytes(const Xmm& out, const Inst& inst) {
  Address from = memory(inst);
  if (inst.lanes >= 4) return vpmovzxbd(out, from);
  if (inst.lanes == 2)
    movzx(eax, word[from.getRegExp()]);
  else
    movzx(eax, byte[from.getRegExp()]);
  vmovd(out, eax);
  vpmovzxbd(out, out);
}

void Encoder::masked_memory(const Inst& inst) {
  int lanes = inst.lanes;
  bool loads = inst.code == Code::kLoadMasked || inst.code == Code::kLoadBoolsMasked;
  bool plain = inst.code == Code::kStoreBools;
  if (!plain) mask_from(loads ? inst.c : inst.out, lanes);
  if (loads) {
    Xmm out = out_vector(inst.out, lanes);
    if (inst.code == Code::kLoadMasked) {
      vmovups(out | k1 | T_z, memory(inst));
      return put_vector(inst.out, out);
    }
    vpmovzxbd(out | k1 | T_z, memory(inst));
    vptestmd(k1, out, out);
    return mask_to(inst.out, lanes);
  }
  Xmm value = in_vector(inst.c, lanes, 1);
  if (inst.code == Code::kStoreMasked) return vmovups(memory(inst) | k1, value);
  Xmm bits = scratch(0, lanes);
  vpsrld(bits, value, 31);
  if (!plain) return vpmovdb(memory(inst) | k1, bits);
  Address to = memory(inst);
  if (lanes >= 4) return vpmovdb(to, bits);
  vpmovdb(Xmm(bits.getIdx()), bits);
  vmovd(eax, Xmm(bits.getIdx()));
  if (lanes == 2)
    mov(word[to.getRegExp()], ax);
  else
    mov(byte[to.getRegExp()], al);
}

void Encoder::gather_avx512(const Inst& inst) {
  int lanes = inst.lanes;
  mask_from(inst.c, lanes);
  Xmm out = out_vector(inst.out, lanes), index = in_vector(inst.b, lanes, 1);
  vpxord(out, out, out);
  Reg64 base(general_number(inst.a, Operand::RCX));
  vpgatherdd(out | k1, ptr[base + index * 4 + static_cast<int>(inst.imm)]);
  put_vector(inst.out, out);
}

void Encoder::extract_avx512(const Inst& inst) {
  Reg32 out = out_general(inst.out);
  auto lane = static_cast<uint8_t>(inst.imm);
  Xmm from = in_vector(inst.a, lane < 4 ? 4 : 16, 1);
  if (lane >= 4) {
    vextracti32x4(scratch(0, 4), Zmm(from.getIdx()), lane / 4);
    from = scratch(0, 4);
  }
  if (lane % 4 == 0)
    vmovd(out, Xmm(from.getIdx()));
  else
    vpextrd(out, Xmm(from.getIdx()), lane % 4);
  put_general(inst.out);
}

}  // namespace tuff::cpu::native

#endif
