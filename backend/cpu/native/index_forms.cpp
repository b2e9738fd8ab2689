#include "backend/cpu/native/index_forms.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace tuff::cpu::native {

namespace {

IndexForm reduced(IndexForm form) {
  std::erase_if(form.terms, [](const auto& term) { return term.second == 0; });
  int64_t common = form.denominator;
  for (const auto& term : form.terms) common = std::gcd(common, term.second);
  for (auto& term : form.terms) term.second /= common;
  form.denominator /= common;
  return form;
}

}  // namespace

bool IndexForm::is_small() const {
  constexpr size_t kMostTerms = 8;
  constexpr int64_t kMost = int64_t{1} << 31;
  return terms.size() <= kMostTerms && denominator < kMost &&
         std::all_of(terms.begin(), terms.end(),
                     [](const auto& term) { return std::abs(term.second) < kMost; });
}

IndexForm sum_of(const IndexForm& a, const IndexForm& b, int64_t sign) {
  IndexForm sum;
  sum.denominator = a.denominator * b.denominator;
  auto x = a.terms.begin(), y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    const bool first = y == b.terms.end() || (x != a.terms.end() && x->first <= y->first);
    const bool second = x == a.terms.end() || (y != b.terms.end() && y->first <= x->first);
    const Reg reg = first ? x->first : y->first;
    int64_t coefficient = 0;
    if (first) coefficient += (x++)->second * b.denominator;
    if (second) coefficient += sign * (y++)->second * a.denominator;
    sum.terms.emplace_back(reg, coefficient);
  }
  return reduced(std::move(sum));
}

IndexForm product_of(const IndexForm& form, int64_t factor) {
  IndexForm product = form;
  for (auto& term : product.terms) term.second *= factor;
  return reduced(std::move(product));
}

IndexForm quotient_of(const IndexForm& form, int64_t divisor) {
  IndexForm quotient = form;
  quotient.denominator *= divisor;
  return reduced(std::move(quotient));
}

IndexForm IndexForms::of(Reg reg) const {
  auto it = forms_.find(reg);
  return it != forms_.end() ? it->second : IndexForm{.terms = {{reg, 1}}};
}

Reg IndexForms::holder(const IndexForm& form) const {
  const bool is_register = form.terms.size() == 1 && form.terms[0].second == 1;
  if (is_register && form.denominator == 1) return form.terms[0].first;
  auto it = holders_.find(form);
  return it != holders_.end() ? it->second : kNone;
}

void IndexForms::set(Reg reg, const IndexForm& form) {
  if (!form.is_small()) return;
  forms_[reg] = form;
  holders_[form] = reg;
}

}  // namespace tuff::cpu::native
