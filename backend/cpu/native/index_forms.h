// What registers with indices hold: sums of multiples of others, so that what cancels is seen, and
// what is there is not computed again.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "backend/cpu/native/machine.h"

namespace tuff::cpu::native {

// The sum of coefficient * register, over a common denominator that divides it without rest.
struct IndexForm {
  std::vector<std::pair<Reg, int64_t>> terms{};  // by register, none with coefficient 0
  int64_t denominator = 1;

  auto operator<=>(const IndexForm&) const = default;
  bool is_zero() const { return terms.empty(); }
  // Whether it is worth being kept, and no product of two of its numbers overflows.
  bool is_small() const;
};

IndexForm sum_of(const IndexForm& a, const IndexForm& b, int64_t sign);
IndexForm product_of(const IndexForm& form, int64_t factor);
IndexForm quotient_of(const IndexForm& form, int64_t divisor);

class IndexForms {
 public:
  IndexForm of(Reg reg) const;
  // A register that holds it in this straight piece of code; kNone.
  Reg holder(const IndexForm& form) const;
  void set(Reg reg, const IndexForm& form);
  // At the end of a straight piece of code. What a register holds stays known.
  void forget_holders() { holders_.clear(); }

 private:
  std::map<Reg, IndexForm> forms_;  // of registers that hold more than themselves
  std::map<IndexForm, Reg> holders_;
};

}  // namespace tuff::cpu::native
