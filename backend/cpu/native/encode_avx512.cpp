// Instructions as AVX-512 has them. Bools are in opmasks between those that make and use them
// (mask_plan.h), else masks of ones and zeros in vectors.
#ifdef TUFF_HAS_XBYAK

#include "backend/cpu/native/encoder.h"

namespace tuff::cpu::native {

using Xbyak::Operand;
using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::Zmm;

constexpr uint8_t kToNearest = 0;  // rounding of vcvtps2ph
constexpr uint8_t kLess = 1;       // predicate of vpcmpud

bool Encoder::avx512_instruction(const Inst& inst) {
  auto imm = static_cast<uint8_t>(inst.imm);
  int lanes = inst.lanes;
  auto with_b = [&](const auto& emit) {
    Xmm a = in_vector(inst.a, lanes, 1);
    with_operand(inst.b, lanes, [&](const Operand& b) { emit(a, b); });
  };
  switch (inst.code) {
    case Code::kEqual:
      with_b([&](const Xmm& a, const Operand& b) { vpcmpeqd(made_mask(), a, b); });
      finish_mask(inst.out, lanes);
      return true;
    case Code::kGreater:
      with_b([&](const Xmm& a, const Operand& b) { vpcmpgtd(made_mask(), a, b); });
      finish_mask(inst.out, lanes);
      return true;
    case Code::kBelow:
      with_b([&](const Xmm& a, const Operand& b) { vpcmpud(made_mask(), a, b, kLess); });
      finish_mask(inst.out, lanes);
      return true;
    case Code::kCompareF:
      with_b([&](const Xmm& a, const Operand& b) { vcmpps(made_mask(), a, b, imm); });
      finish_mask(inst.out, lanes);
      return true;
    case Code::kLoadBools: {
      Xmm bytes = scratch(0, lanes);
      load_bytes(bytes, inst);
      vptestmd(made_mask(), bytes, bytes);
      finish_mask(inst.out, lanes);
      return true;
    }
    case Code::kAnd:
    case Code::kOr:
    case Code::kXor: return masks_->out != 0 && mask_logic(inst);
    case Code::kStoreBools:
    case Code::kLoadMasked:
    case Code::kStoreMasked:
    case Code::kLoadBoolsMasked:
    case Code::kStoreBoolsMasked: masked_memory(inst); return true;
    case Code::kLoad: {
      if (inst.cell == Cell::kWord) return false;
      Xmm out = out_vector(inst.out, lanes);
      load_vector(out, memory(inst), inst.cell);
      put_vector(inst.out, out);
      return true;
    }
    case Code::kStore:
      if (inst.cell == Cell::kWord) return false;
      store_vector(memory(inst), in_vector(inst.c, lanes, 1), inst.cell);
      return true;
    case Code::kGather: gather_avx512(inst); return true;
    case Code::kSigns:
      kmovw(out_general(inst.out), mask_of(inst.a, masks_->a, lanes));
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
    case Code::kFloatFromHalf: {
      Xmm halves = scratch(0, lanes / 2);
      vpmovdw(halves, in_vector(inst.a, lanes, 1));
      vcvtph2ps(out, halves);
      break;
    }
    case Code::kHalfFromFloat: {
      Xmm halves = scratch(0, lanes / 2);
      vcvtps2ph(halves, in_vector(inst.a, lanes, 1), kToNearest);
      vpmovzxwd(out, halves);
      break;
    }
    case Code::kRoundToHalf: {
      Xmm halves = scratch(0, lanes / 2);
      vcvtps2ph(halves, in_vector(inst.a, lanes, 1), kToNearest);
      vcvtph2ps(out, halves);
      break;
    }
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
      if (masks_->c != 0) {
        Xmm no = in_vector(inst.b, lanes, 1);
        Xbyak::Opmask mask(masks_->c);
        with_operand(inst.a, lanes, [&](const Operand& yes) { vpblendmd(out | mask, no, yes); });
        break;
      }
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

bool Encoder::mask_logic(const Inst& inst) {
  Xbyak::Opmask out = made_mask(), a(masks_->a), b(masks_->b);
  if (masks_->b == 0)
    knotw(out, a);
  else if (inst.code == Code::kAnd)
    kandw(out, a, b);
  else if (inst.code == Code::kOr)
    korw(out, a, b);
  else
    kxorw(out, a, b);
  finish_mask(inst.out, inst.lanes);
  return true;
}

// A mask that was made, as a vector if somebody reads it so.
void Encoder::finish_mask(Reg reg, int lanes) {
  if (!masks_->vector_too) return;
  Xmm out = out_vector(reg, lanes);
  vpmovm2d(out, made_mask());
  put_vector(reg, out);
}

// The opmask that holds a bool, or one that is made of its vector.
Xbyak::Opmask Encoder::mask_of(Reg reg, uint8_t held, int lanes) {
  if (held != 0) return Xbyak::Opmask(held);
  vpmovd2m(k1, in_vector(reg, lanes, 2));
  return k1;
}

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

// Of elements that memory has in fewer bits, or as they are; a mask goes with `to`.
void Encoder::load_vector(const Xmm& to, const Address& from, Cell cell) {
  switch (cell) {
    case Cell::kI8: return vpmovsxbd(to, from);
    case Cell::kU8: return vpmovzxbd(to, from);
    case Cell::kI16: return vpmovsxwd(to, from);
    case Cell::kU16: return vpmovzxwd(to, from);
    case Cell::kF16: return vcvtph2ps(to, from);
    case Cell::kBF16: {
      vpmovzxwd(to, from);
      Xmm plain = to.isZMM() ? sized(to.getIdx(), 16) : sized(to.getIdx(), to.isYMM() ? 8 : 4);
      return vpslld(plain, plain, 16);
    }
    default: return vmovups(to, from);
  }
}

void Encoder::store_vector(const Address& to, const Xmm& value, Cell cell) {
  switch (cell) {
    case Cell::kI8:
    case Cell::kU8: return vpmovdb(to, value);
    case Cell::kI16:
    case Cell::kU16: return vpmovdw(to, value);
    case Cell::kF16: return vcvtps2ph(to, value, kToNearest);
    case Cell::kBF16: {
      Xmm bits = value.isZMM() ? scratch(0, 16) : scratch(0, value.isYMM() ? 8 : 4);
      vpsrld(bits, value, 16);
      return vpmovdw(to, bits);
    }
    default: return vmovups(to, value);
  }
}

void Encoder::masked_memory(const Inst& inst) {
  int lanes = inst.lanes;
  if (inst.code == Code::kLoadMasked) {
    Xbyak::Opmask mask = mask_of(inst.c, masks_->c, lanes);
    Xmm out = out_vector(inst.out, lanes);
    load_vector(out | mask | T_z, memory(inst), inst.cell);
    return put_vector(inst.out, out);
  }
  if (inst.code == Code::kLoadBoolsMasked) {
    Xbyak::Opmask mask = mask_of(inst.c, masks_->c, lanes);
    Xmm bytes = scratch(0, lanes);
    vpmovzxbd(bytes | mask | T_z, memory(inst));
    vptestmd(made_mask(), bytes, bytes);
    return finish_mask(inst.out, lanes);
  }
  if (inst.code == Code::kStoreMasked) {
    Xbyak::Opmask mask = mask_of(inst.out, masks_->out, lanes);
    Xmm value = in_vector(inst.c, lanes, 1);
    return store_vector(memory(inst) | mask, value, inst.cell);
  }
  store_bools_avx512(inst);
}

// As bytes of 0 and 1.
void Encoder::store_bools_avx512(const Inst& inst) {
  int lanes = inst.lanes;
  Xmm bits = scratch(0, 16);
  if (masks_->c != 0)
    vpmovm2d(bits, Xbyak::Opmask(masks_->c));
  else
    vmovups(sized(bits.getIdx(), lanes), in_vector(inst.c, lanes, 1));
  vpsrld(bits, bits, 31);
  bits = sized(bits.getIdx(), lanes);
  if (inst.code == Code::kStoreBoolsMasked) {
    Xbyak::Opmask mask = mask_of(inst.out, masks_->out, lanes);
    return vpmovdb(memory(inst) | mask, bits);
  }
  Address to = memory(inst);
  if (lanes >= 4) return vpmovdb(to, bits);
  vpmovdb(Xmm(bits.getIdx()), bits);
  vmovd(eax, Xmm(bits.getIdx()));
  if (inst.lanes == 2)
    mov(word[to.getRegExp()], ax);
  else
    mov(byte[to.getRegExp()], al);
}

void Encoder::gather_avx512(const Inst& inst) {
  int lanes = inst.lanes;
  // The mask is used up.
  kmovw(k1, mask_of(inst.c, masks_->c, lanes));
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
