// Writes MachineCode as bytes. Only for the files encode*.cpp, which alone know Xbyak.
#pragma once

#include <xbyak/xbyak.h>

#include <cstddef>
#include <vector>

#include "backend/cpu/native/allocate.h"
#include "backend/cpu/native/machine.h"
#include "backend/cpu/native/mask_plan.h"

namespace tuff::cpu::native {

class Encoder : public Xbyak::CodeGenerator {
 public:
  Encoder(const MachineCode& code, const Allocation& allocation, std::vector<std::byte>& bytes);

  // Returns the size.
  size_t write();

 private:
  using Address = Xbyak::Address;
  using Label = Xbyak::Label;
  using Operand = Xbyak::Operand;
  using Reg32 = Xbyak::Reg32;
  using Reg64 = Xbyak::Reg64;
  using Xmm = Xbyak::Xmm;
  using Ymm = Xbyak::Ymm;
  using Zmm = Xbyak::Zmm;

  void begin();
  void end();
  void instruction(const Inst& inst);
  // What the two levels write in different ways. False: they write the same.
  bool avx2_instruction(const Inst& inst);
  bool avx512_instruction(const Inst& inst);
  template <typename Row>
  bool three(const Row& row, const Inst& inst);
  bool three_operands(const Inst& inst);
  void vector_instruction(const Inst& inst);
  void fused_sum(const Inst& inst);
  void between_kinds(const Inst& inst);
  void vector_memory(const Inst& inst);
  void general_instruction(const Inst& inst);
  void divide_by(const Inst& inst, uint32_t divisor);
  void load_cell(const Inst& inst);
  void arithmetic(const Inst& inst, int32_t imm);
  void compare(const Inst& inst, int32_t imm);
  void set(Condition condition);
  void flow(const Inst& inst);
  void jump(Condition condition, const Label& to);

  void gather_avx2(const Inst& inst);
  void load_bools_avx2(const Inst& inst);
  void store_bools_avx2(const Inst& inst);
  bool mask_logic(const Inst& inst);
  Xbyak::Opmask made_mask() const { return Xbyak::Opmask(masks_->out); }
  void finish_mask(Reg out, int lanes);
  Xbyak::Opmask mask_of(Reg reg, uint8_t held, int lanes);
  void masked_memory(const Inst& inst);
  void store_bools_avx512(const Inst& inst);
  void gather_avx512(const Inst& inst);
  void extract_avx512(const Inst& inst);
  void load_vector(const Xmm& to, const Address& from, Cell cell);
  void store_vector(const Address& to, const Xmm& value, Cell cell);
  void load_bytes(const Xmm& out, const Inst& inst);

  const Place& place(Reg reg) const {
    return is_constant(reg) ? allocation_.constants[constant_id(reg)]
                            : allocation_.places[static_cast<size_t>(reg)];
  }
  // Where what has no register lies.
  Address slot(Reg reg) {
    if (is_constant(reg)) return ptr[rip + constants_[constant_id(reg)]];
    return ptr[rsp + static_cast<int>(place(reg).offset)];
  }

  // The vector register of so many lanes.
  static Xmm sized(int number, int lanes) {
    if (lanes == 16) return Zmm(number);
    if (lanes == 8) return Ymm(number);
    return Xmm(number);
  }
  // One of three that hold no value.
  Xmm scratch(int number, int lanes) const { return sized(first_scratch_ + number, lanes); }
  // A vector in a register: its own, or a scratch one that is loaded.
  Xmm in_vector(Reg reg, int lanes, int number);
  Xmm out_vector(Reg reg, int lanes) const {
    return place(reg).in_register ? sized(place(reg).number, lanes) : scratch(0, lanes);
  }
  void put_vector(Reg reg, const Xmm& from) {
    if (!place(reg).in_register) vmovups(slot(reg), from);
  }
  // Calls use(operand) with a register or the memory that an operand lies in.
  template <typename Use>
  void with_operand(Reg reg, int lanes, const Use& use) {
    if (place(reg).in_register)
      use(sized(place(reg).number, lanes));
    else
      use(slot(reg));
  }

  int general_number(Reg reg, int number, bool load = true);
  Reg32 general(Reg reg, int number) { return Reg32(general_number(reg, number)); }
  Reg32 out_general(Reg reg) { return Reg32(general_number(reg, Operand::RAX, false)); }
  void put_general(Reg reg) {
    if (!place(reg).in_register) mov(slot(reg), rax);
  }
  // a + b * scale + imm; takes rcx and rdx.
  Address memory(const Inst& inst);

  const MachineCode& code_;
  const Allocation& allocation_;
  const int first_scratch_;
  // With AVX-512: by instruction, and of the current one.
  std::vector<MaskUse> mask_uses_;
  const MaskUse* masks_ = nullptr;
  std::vector<Label> labels_, constants_;
  Label failed_;
  int64_t frame_bytes_ = 0;
};

}  // namespace tuff::cpu::native
