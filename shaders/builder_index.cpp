// KernelBuilder: index expressions as statements. All that a kernel counts with has 32 bits.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "shaders/builder.h"

namespace tuff {

namespace {

bool fits_32_bits(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() &&
         value <= std::numeric_limits<int32_t>::max();
}

}  // namespace

// Every index and every size passes here: what a kernel counts with has 32 bits.
void KernelBuilder::require_32_bits(int64_t value) {
  if (fits_32_bits(value)) return;
  error_ = fmt::format(
      "An index or size ({}) of a kernel ({}) does not fit 32 bits; compute with tensors of at "
      "most {} elements.",
      value, kernel_.family, std::numeric_limits<int32_t>::max());
}

void KernelBuilder::require_32_bits(const IndexRange& range) {
  require_32_bits(range.low);
  require_32_bits(range.high);
}

Operand KernelBuilder::lane_extent(const IndexExpr& base, int64_t total) {
  if (total % kernel_.lanes == 0) return Operand::i32(kernel_.lanes);
  IndexExpr rest = IndexExpr(total) - base;
  if (rest.is_constant()) return Operand::i32(std::min(kernel_.lanes, rest.constant));
  return compute(Op::kMinimum, DType::kI32, {Operand::i32(kernel_.lanes), index(rest)});
}

IndexExpr KernelBuilder::clamp_to(const IndexExpr& e, int64_t high) {
  if (context_.range(e).high <= high) return e;
  Operand clamped = compute(Op::kMinimum, DType::kI32, {index(e), size(high)});
  return symbol_for(clamped, 0, high);
}

IndexExpr KernelBuilder::stepped(const IndexExpr& e, int64_t by) {
  IndexRange r = context_.range(e);
  Operand value = index(e);
  if (by != 0) value = compute(Op::kAdd, DType::kI32, {value, Operand::i32(by)});
  return symbol_for(value, r.low + by, r.high + by);
}

IndexExpr KernelBuilder::block_start(const IndexExpr& e, int64_t by, int64_t total) {
  return block_start(e, by, total, total % by == 0);
}

IndexExpr KernelBuilder::block_start(const IndexExpr& e, int64_t by, int64_t total, bool whole) {
  if (e.is_constant()) return e * by;
  Operand value = compute(Op::kMultiply, DType::kI32, {index(e), Operand::i32(by)});
  return symbol_for(value, 0, whole ? total - by : total - 1);
}

IndexExpr KernelBuilder::symbol_for(const Operand& value, int64_t low, int64_t high) {
  for (auto& [atom, operand] : atoms_)
    if (operand == value) {
      IndexExpr e;
      e.terms = {{atom, 1}};
      return e;
    }
  IndexExpr e = context_.symbol("v", low, high);
  if (!e.terms.empty()) atoms_[e.terms[0].first] = value;
  return e;
}

void KernelBuilder::bind(const IndexExpr& symbol, const IndexExpr& value) {
  if (symbol.is_constant()) return;
  for (const auto& [bound, unused] : bindings_) chained_ |= context_.depends_on(value, bound);
  bindings_[symbol.terms[0].first] = value;
}

IndexExpr KernelBuilder::resolve(const IndexExpr& e) {
  IndexExpr bound = context_.substitute(e, bindings_);
  return chained_ ? context_.substitute(bound, bindings_) : bound;
}

// Whether it is a position in one of the group's tensors, which 32 bits count, though its range may
// not show it: sums on the way wrap, the whole does not. Only views divide.
bool KernelBuilder::is_position(const IndexExpr& e) const {
  return fits_32_bits(context_.largest_tensor()) &&
         std::any_of(e.terms.begin(), e.terms.end(),
                     [&](const auto& term) { return context_.atom(term.first).divisor > 0; });
}

// Kernels divide numbers >= 0 only: floor(x / c) = floor((x + k c) / c) - k. This is k.
int64_t KernelBuilder::lift_of(const IndexContext::Atom& atom) const {
  int64_t low = atom.divisor > 0 ? context_.range(atom.numerator).low : 0;
  return low < 0 ? (atom.divisor - 1 - low) / atom.divisor : 0;
}

bool KernelBuilder::divides_32_bits(const IndexExpr& unbound) {
  IndexExpr e = resolve(unbound);
  return std::all_of(e.terms.begin(), e.terms.end(), [&](const auto& term) {
    const IndexContext::Atom atom = context_.atom(term.first);
    if (atom.divisor == 0) return true;
    // Unlike a whole position, what is divided may not wrap.
    IndexExpr lifted = atom.numerator + lift_of(atom) * atom.divisor;
    return fits_32_bits(context_.range(lifted).high) && divides_32_bits(atom.numerator);
  });
}

IndexExpr KernelBuilder::computed(const IndexExpr& e, int64_t count) {
  return e.is_constant() ? e : symbol_for(index(e), 0, count - 1);
}

// A GPU multiplies by a number that it does not know in the time of four additions: small powers
// of two are spelled out, as shifts.
Operand KernelBuilder::multiple(const Operand& value, int64_t by) {
  if (by == 1) return value;
  const bool shift = is_gpu(caps_) && (by == 2 || by == 4 || by == 8);
  return compute(Op::kMultiply, DType::kI32, {value, shift ? Operand::i32(by) : size(by)});
}

Operand KernelBuilder::index(const IndexExpr& unbound) {
  IndexExpr e = resolve(unbound);
  const bool position = is_position(e);
  if (!position) require_32_bits(context_.range(e));
  auto wrapped = [&](int64_t n) { return position ? static_cast<int32_t>(n) : n; };
  struct Part {
    size_t level;
    Operand value;
    bool negative;
  };
  // Outer terms first, so that their partial sums hoist.
  std::vector<Part> parts;
  for (auto [id, coefficient] : e.terms) {
    const IndexContext::Atom atom = context_.atom(id);
    int64_t lift = lift_of(atom);
    e.constant -= coefficient * lift;
    IndexExpr lifted = atom.numerator + lift * atom.divisor;
    if (atom.divisor > 0) require_32_bits(context_.range(lifted));
    Operand value = atom.divisor > 0
                        ? compute(Op::kIndexDiv, DType::kI32, {index(lifted), size(atom.divisor)})
                        : atoms_.at(id);
    // On GPUs, where products are dear, x and -x share one.
    const int64_t by = wrapped(coefficient);
    const bool negative = by < 0 && by > INT32_MIN && is_gpu(caps_);
    value = multiple(value, negative ? -by : by);
    parts.push_back({level_of(value), value, negative});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.level < b.level; });
  if (parts.empty()) return size(e.constant);
  const Operand constant = size(wrapped(e.constant));
  auto op = [&](Op o, const Operand& a, const Operand& b) {
    return compute(o, DType::kI32, {a, b});
  };
  Operand sum = parts[0].negative ? op(Op::kSubtract, constant, parts[0].value)
                : e.constant != 0 ? op(Op::kAdd, parts[0].value, constant)
                                  : parts[0].value;
  for (size_t i = 1; i < parts.size(); ++i)
    sum = op(parts[i].negative ? Op::kSubtract : Op::kAdd, sum, parts[i].value);
  return sum;
}

namespace {

// g * q + r >= 0 says the same for all r of [0, g): neighbours of a run then share a test.
IndexExpr without_remainder(IndexExpr e) {
  int64_t g = 0;
  for (const auto& term : e.terms) g = std::gcd(g, term.second);
  if (g > 1) e.constant -= ((e.constant % g) + g) % g;
  return e;
}

}  // namespace

std::optional<Operand> KernelBuilder::all_of(const std::vector<IndexCondition>& conditions,
                                             const std::optional<Operand>& guard) {
  std::optional<Operand> all = guard;
  for (const IndexCondition& unbound : conditions) {
    IndexCondition c{resolve(unbound.e), unbound.kind};
    Truth known = truth(context_, c);
    if (known == Truth::kAlways) continue;
    if (known == Truth::kNever) return Operand::boolean(false);
    const bool is_bound = c.kind == IndexCondition::Kind::kNonNegative;
    if (is_bound) c.e = without_remainder(std::move(c.e));
    Op op = is_bound ? Op::kGe : Op::kEq;
    Operand test = compute(op, DType::kBool, {index(c.e), Operand::i32(0)});
    all = all ? compute(Op::kAnd, DType::kBool, {*all, test}) : test;
  }
  return all;
}

}  // namespace tuff
