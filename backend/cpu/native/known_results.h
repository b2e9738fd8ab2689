// What a straight piece of code has computed, so that it is not computed twice.
#pragma once

#include <compare>
#include <map>

#include "backend/cpu/native/machine.h"

namespace tuff::cpu::native {

class KnownResults {
 public:
  // Whether the same instruction gives the same again: no copies, which are of variables, nor what
  // memory is read for.
  static bool is_pure(Code code) {
    if (code <= Code::kSigns) return code != Code::kMove;
    return (code >= Code::kGAdd && code <= Code::kGSelect) || code == Code::kGWiden;
  }
  // kNone: nothing is known of it.
  Reg find(const Inst& inst) const {
    auto it = results_.find(key(inst));
    return it != results_.end() ? it->second : kNone;
  }
  // What made a register; null: nothing is known of it.
  const Inst* maker(Reg reg) const {
    auto it = makers_.find(reg);
    return it != makers_.end() ? &it->second : nullptr;
  }
  void set(const Inst& inst) {
    results_[key(inst)] = inst.out;
    makers_[inst.out] = inst;
  }
  void forget_all() {
    results_.clear();
    makers_.clear();
  }

 private:
  struct Key {
    Code code;
    Condition condition;
    uint8_t lanes;
    Reg a, b, c;
    int64_t imm;
    auto operator<=>(const Key&) const = default;
  };
  static Key key(const Inst& inst) {
    return {inst.code, inst.condition, inst.lanes, inst.a, inst.b, inst.c, inst.imm};
  }

  std::map<Key, Reg> results_;
  std::map<Reg, Inst> makers_;
};

}  // namespace tuff::cpu::native
