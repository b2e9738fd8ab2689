// What all instructions share, and the flow between them. The files encode*.cpp alone know Xbyak.
#include "backend/cpu/native/encode.h"

#ifdef TUFF_HAS_XBYAK

#include <algorithm>
#include <cstring>

#include "backend/cpu/native/encoder.h"
#include "backend/cpu/native/native_context.h"

namespace tuff::cpu::native {

namespace {

using Xbyak::Operand;
using Xbyak::Xmm;
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
    {Code::kMaximumF, &G::vmaxps, false}, {Code::kMinimumF, &G::vminps, false},
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
    {Code::kMaximumSigned, &G::vpmaxsd, true},
    {Code::kMinimumSigned, &G::vpminsd, true},
    {Code::kMaximumUnsigned, &G::vpmaxud, true},
    {Code::kMinimumUnsigned, &G::vpminud, true},
};

// The longest instruction that one of ours becomes, in bytes.
constexpr size_t kLongest = 96;

constexpr int kSaved[] = {Operand::RBP, Operand::RBX, Operand::R12,
                          Operand::R13, Operand::R14, Operand::R15};

}  // namespace

Encoder::Encoder(const MachineCode& code, const Allocation& allocation,
                 std::vector<std::byte>& bytes)
    : CodeGenerator(bytes.size(), bytes.data()),
      code_(code),
      allocation_(allocation),
      first_scratch_(vector_registers(code)),
      labels_(static_cast<size_t>(code.labels)),
      constants_(code.constants.size()) {}

size_t Encoder::write() {
  begin();
  if (code_.is_wide()) mask_uses_ = plan_masks(code_);
  for (size_t i = 0; i < code_.insts.size(); ++i) {
    if (code_.is_wide()) masks_ = &mask_uses_[i];
    instruction(code_.insts[i]);
  }
  end();
  auto lanes = static_cast<size_t>(code_.width);
  while (getSize() % (4 * lanes) != 0) int3();
  for (size_t i = 0; i < constants_.size(); ++i) {
    L(constants_[i]);
    for (size_t lane = 0; lane < lanes; ++lane) dd(code_.constants[i][lane]);
  }
  return getSize();
}

// The old stack pointer lies under the code's own slots, which are aligned for vectors.
void Encoder::begin() {
  for (int number : kSaved) push(Reg64(number));
  mov(rbx, rdi);
  mov(r15, ptr[rbx + static_cast<int>(offsetof(NativeContext, bases))]);
  mov(rax, rsp);
  frame_bytes_ = (allocation_.stack_bytes + 64 + 63) / 64 * 64;
  sub(rsp, static_cast<uint32_t>(frame_bytes_));
  and_(rsp, -64);
  mov(ptr[rsp + static_cast<int>(frame_bytes_ - 8)], rax);
  for (size_t id = 0; id < constants_.size(); ++id)
    if (allocation_.constants[id].in_register)
      vmovups(in_vector(constant_reg(id), code_.width, 0), ptr[rip + constants_[id]]);
}

// Code falls through with 0; a step that failed jumps to the last label with what it gave.
void Encoder::end() {
  xor_(eax, eax);
  L(failed_);
  vzeroupper();
  mov(rsp, ptr[rsp + static_cast<int>(frame_bytes_ - 8)]);
  for (size_t i = std::size(kSaved); i-- > 0;) pop(Reg64(kSaved[i]));
  ret();
}

Xmm Encoder::in_vector(Reg reg, int lanes, int number) {
  if (place(reg).in_register) return sized(place(reg).number, lanes);
  Xmm to = scratch(number, lanes);
  vmovups(to, slot(reg));
  return to;
}

int Encoder::general_number(Reg reg, int number, bool load) {
  if (reg == kBases) return Operand::R15;
  if (reg == kStack) return Operand::RSP;
  if (place(reg).in_register) return place(reg).number;
  if (load) mov(Reg64(number), slot(reg));
  return number;
}

Xbyak::Address Encoder::memory(const Inst& inst) {
  Xbyak::RegExp at = Reg64(general_number(inst.a, Operand::RCX));
  if (inst.b != kNone) at = at + Reg64(general_number(inst.b, Operand::RDX)) * inst.scale;
  return ptr[at + static_cast<int>(inst.imm)];
}

template <typename Row>
bool Encoder::three(const Row& row, const Inst& inst) {
  if (row.code != inst.code) return false;
  Reg a = inst.a, b = inst.b;
  auto lies = [&](Reg reg) { return !place(reg).in_register; };
  if (row.commutes && lies(a) && !lies(b)) std::swap(a, b);
  Xmm first = in_vector(a, inst.lanes, 1), out = out_vector(inst.out, inst.lanes);
  with_operand(b, inst.lanes,
               [&](const Operand& second) { (this->*row.emit)(out, first, second); });
  put_vector(inst.out, out);
  return true;
}

bool Encoder::three_operands(const Inst& inst) {
  auto matches = [&](const auto& row) { return three(row, inst); };
  return std::any_of(std::begin(kThree), std::end(kThree), matches) ||
         std::any_of(std::begin(kThreeVectors), std::end(kThreeVectors), matches);
}

void Encoder::instruction(const Inst& inst) {
  if (code_.is_wide() ? avx512_instruction(inst) : avx2_instruction(inst)) return;
  if (three_operands(inst)) return;
  if (inst.code <= Code::kFma) return vector_instruction(inst);
  if (inst.code <= Code::kSigns) return between_kinds(inst);
  if (inst.code <= Code::kStoreBoolsMasked) return vector_memory(inst);
  if (inst.code <= Code::kGStoreByte) return general_instruction(inst);
  flow(inst);
}

void Encoder::flow(const Inst& inst) {
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

void Encoder::jump(Condition condition, const Label& to) {
  switch (condition) {
    case Condition::kEqual: return je(to, T_NEAR);
    case Condition::kNotEqual: return jne(to, T_NEAR);
    case Condition::kLess: return jl(to, T_NEAR);
    case Condition::kLessEqual: return jle(to, T_NEAR);
    case Condition::kBelow: return jb(to, T_NEAR);
    default: return jbe(to, T_NEAR);
  }
}

bool can_encode() { return true; }

std::vector<std::byte> encode(const MachineCode& code, const Allocation& allocation) {
  size_t constant_bytes = code.constants.size() * sizeof(Lanes);
  std::vector<std::byte> bytes(code.insts.size() * kLongest + constant_bytes + 4096);
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
