// Vector instructions that AVX2 and AVX-512 share.
#ifdef TUFF_HAS_XBYAK

#include "backend/cpu/native/encoder.h"

namespace tuff::cpu::native {

using Xbyak::Operand;
using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::Zmm;

void Encoder::vector_instruction(const Inst& inst) {
  auto imm = static_cast<uint8_t>(inst.imm);
  int lanes = inst.lanes;
  Xmm out = out_vector(inst.out, lanes);
  auto unary = [&](const auto& emit) { with_operand(inst.a, lanes, emit); };
  switch (inst.code) {
    case Code::kSqrtF: unary([&](const Operand& a) { vsqrtps(out, a); }); break;
    case Code::kShiftRightWide: vpsrlq(out, in_vector(inst.a, lanes, 1), imm); break;
    case Code::kFloatFromSigned: unary([&](const Operand& a) { vcvtdq2ps(out, a); }); break;
    case Code::kSignedFromFloat: unary([&](const Operand& a) { vcvttps2dq(out, a); }); break;
    case Code::kDoubleFromSigned: vcvtdq2pd(out, in_vector(inst.a, lanes / 2, 1)); break;
    case Code::kSignedFromDouble:
      out = sized(out.getIdx(), lanes / 2);
      vcvttpd2dq(out, in_vector(inst.a, lanes, 1));
      break;
    case Code::kLowHalf:
      out = sized(out.getIdx(), lanes / 2);
      unary([&](const Operand& a) {
        vmovups(out, a.isMEM() ? a : Operand(sized(a.getIdx(), lanes / 2)));
      });
      break;
    case Code::kSwap: unary([&](const Operand& a) { vpshufd(out, a, imm); }); break;
    case Code::kPermute: {
      Xmm from = in_vector(inst.b, lanes, 1);
      with_operand(inst.a, lanes, [&](const Operand& a) {
        if (lanes == 16)
          vpermd(Zmm(out.getIdx()), Zmm(from.getIdx()), a);
        else
          vpermd(Ymm(out.getIdx()), Ymm(from.getIdx()), a);
      });
      break;
    }
    case Code::kMove: unary([&](const Operand& a) { vmovups(out, a); }); break;
    case Code::kBroadcast:
      out = sized(out.getIdx(), code_.width);
      vpbroadcastd(out, in_vector(inst.a, 4, 1));
      break;
    default: return fused_sum(inst);  // kFma
  }
  put_vector(inst.out, out);
}

// A sum that goes on is in its place.
void Encoder::fused_sum(const Inst& inst) {
  bool goes_on = inst.out == inst.c && place(inst.out).in_register;
  Xmm sum = goes_on ? out_vector(inst.out, inst.lanes) : scratch(0, inst.lanes);
  Xmm a = in_vector(inst.a, inst.lanes, 1);
  if (!goes_on) with_operand(inst.c, inst.lanes, [&](const Operand& c) { vmovups(sum, c); });
  with_operand(inst.b, inst.lanes, [&](const Operand& b) { vfmadd231ps(sum, a, b); });
  if (goes_on) return;
  Xmm out = out_vector(inst.out, inst.lanes);
  if (out.getIdx() != sum.getIdx()) vmovaps(out, sum);
  put_vector(inst.out, out);
}

// kSpread, and kExtract of lane 0.
void Encoder::between_kinds(const Inst& inst) {
  if (inst.code == Code::kSpread) {
    Xmm out = out_vector(inst.out, code_.width);
    vmovd(Xmm(out.getIdx()), general(inst.a, Operand::RAX));
    vpbroadcastd(out, Xmm(out.getIdx()));
    return put_vector(inst.out, out);
  }
  vmovd(out_general(inst.out), in_vector(inst.a, 4, 1));
  put_general(inst.out);
}

void Encoder::vector_memory(const Inst& inst) {
  int lanes = inst.lanes;
  if (inst.code == Code::kLoadSpread) {
    Xmm out = out_vector(inst.out, code_.width);
    vbroadcastss(out, memory(inst));
    return put_vector(inst.out, out);
  }
  if (inst.code == Code::kLoad) {
    Xmm out = out_vector(inst.out, lanes);
    Address from = memory(inst);
    if (lanes >= 4)
      vmovups(out, from);
    else if (lanes == 2)
      vmovq(out, from);
    else
      vmovss(out, from);
    return put_vector(inst.out, out);
  }
  Xmm value = in_vector(inst.c, lanes, 1);
  Address to = memory(inst);
  if (lanes >= 4)
    vmovups(to, value);
  else if (lanes == 2)
    vmovq(to, value);
  else
    vmovss(to, value);
}

}  // namespace tuff::cpu::native

#endif
