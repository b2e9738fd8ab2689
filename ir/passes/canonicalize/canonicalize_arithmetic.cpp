// Arithmetic that changes no bit: identities, involutions, constants to the right.
#include <cmath>

#include "ir/ops/neutral.h"
#include "ir/passes/canonicalize/canonicalize_rules.h"

namespace tuff::canonical {

namespace {

using Replacement = std::optional<Value>;

// Operand i equals `value` in every element; zeros by their sign.
bool is_number(const RewriteSite& site, size_t i, double value) {
  const Literal* l = splat_value(site.out, site.node.operands[i]);
  if (!l) return false;
  double found = l->get_double(0);
  return found == value && std::signbit(found) == std::signbit(value);
}

bool is_lowest(const RewriteSite& site, size_t i, bool highest) {
  const Literal* l = splat_value(site.out, site.node.operands[i]);
  if (!l) return false;
  const Literal extreme = extreme_value(l->type().dtype, highest);
  return is_float(l->type().dtype) ? l->get_double(0) == extreme.get_double(0)
                                   : l->get_int(0) == extreme.get_int(0);
}

bool is_all_ones(const RewriteSite& site, size_t i) {
  DType dtype = site.operand_type(i).dtype;
  return is_number(site, i, dtype == DType::kBool ? 1 : -1) ||
         (is_unsigned_int(dtype) && is_lowest(site, i, true));
}

bool same_operands(const RewriteSite& site) {
  return site.node.operands[0] == site.node.operands[1];
}
bool is_float_node(const RewriteSite& site) { return is_float(site.node.types[0].dtype); }
Value lhs(const RewriteSite& site) { return site.node.operands[0]; }

const Node* defined_by(const RewriteSite& site, size_t i, Op op) {
  const Node& node = site.operand(i);
  return node.op == op ? &node : nullptr;
}

bool is_constant_like(const RewriteSite& site, size_t i) {
  Value v = site.node.operands[i];
  return constant_value(site.out, v) || splat_value(site.out, v);
}

// c op x = x op c.
Replacement constant_right(const RewriteSite& site) {
  if (!is_constant_like(site, 0) || is_constant_like(site, 1)) return std::nullopt;
  return site.add(site.node.op, {site.node.operands[1], site.node.operands[0]}, site.node.types[0],
                  site.node.attrs);
}

Replacement add_identity(const RewriteSite& site) {
  // x + (+0) would turn -0 into +0.
  return is_number(site, 1, is_float_node(site) ? -0.0 : 0.0) ? Replacement(lhs(site))
                                                              : std::nullopt;
}

Replacement zero_identity(const RewriteSite& site) {
  return is_number(site, 1, 0.0) ? Replacement(lhs(site)) : std::nullopt;
}

Replacement unit_identity(const RewriteSite& site) {
  return is_number(site, 1, 1.0) ? Replacement(lhs(site)) : std::nullopt;
}

Replacement integer_zero_absorbs(const RewriteSite& site) {
  if (is_float_node(site) || !is_number(site, 1, 0.0)) return std::nullopt;
  return site.node.operands[1];
}

Replacement ones_identity(const RewriteSite& site) {
  return is_all_ones(site, 1) ? Replacement(lhs(site)) : std::nullopt;
}

Replacement ones_absorb(const RewriteSite& site) {
  return is_all_ones(site, 1) ? Replacement(site.node.operands[1]) : std::nullopt;
}

Replacement idempotent(const RewriteSite& site) {
  return same_operands(site) ? Replacement(lhs(site)) : std::nullopt;
}

// maximum(x, -inf): a NaN passes through either way.
Replacement maximum_identity(const RewriteSite& site) {
  return is_lowest(site, 1, false) ? Replacement(lhs(site)) : std::nullopt;
}

Replacement minimum_identity(const RewriteSite& site) {
  return is_lowest(site, 1, true) ? Replacement(lhs(site)) : std::nullopt;
}

Replacement integer_cancels(const RewriteSite& site) {
  if (is_float_node(site) || !same_operands(site)) return std::nullopt;
  return site.splat(site.node.types[0], 0);
}

Replacement involution(const RewriteSite& site) {
  const Node* inner = defined_by(site, 0, site.node.op);
  return inner ? Replacement(inner->operands[0]) : std::nullopt;
}

Replacement abs_of_sign(const RewriteSite& site) {
  if (is_unsigned_int(site.node.types[0].dtype)) return lhs(site);
  if (defined_by(site, 0, Op::kAbs)) return lhs(site);
  const Node* inner = defined_by(site, 0, Op::kNegate);
  return inner ? Replacement(site.add(Op::kAbs, {inner->operands[0]}, site.node.types[0]))
               : std::nullopt;
}

// x + (-y) = x - y and x - (-y) = x + y, exactly.
Replacement negated_term(const RewriteSite& site) {
  Op other = site.node.op == Op::kAdd ? Op::kSubtract : Op::kAdd;
  if (const Node* inner = defined_by(site, 1, Op::kNegate))
    return site.add(other, {lhs(site), inner->operands[0]}, site.node.types[0]);
  const Node* inner = site.node.op == Op::kAdd ? defined_by(site, 0, Op::kNegate) : nullptr;
  if (!inner) return std::nullopt;
  return site.add(Op::kSubtract, {site.node.operands[1], inner->operands[0]}, site.node.types[0]);
}

// (-x) * c = x * (-c): the negation moves into the constant.
Replacement negated_factor(const RewriteSite& site) {
  const Node* inner = defined_by(site, 0, Op::kNegate);
  const Literal* c = splat_value(site.out, site.node.operands[1]);
  if (!inner || !c || !is_float_node(site)) return std::nullopt;
  return site.add(Op::kMultiply,
                  {inner->operands[0], site.splat(site.node.types[0], -c->get_double(0))},
                  site.node.types[0]);
}

// x / 2^k = x * 2^-k where both are normal numbers: both round the same quotient.
Replacement divide_by_power_of_two(const RewriteSite& site) {
  const Literal* c = splat_value(site.out, site.node.operands[1]);
  if (!c || !is_float_node(site)) return std::nullopt;
  int exponent = 0;
  double value = c->get_double(0);
  if (std::abs(std::frexp(value, &exponent)) != 0.5) return std::nullopt;
  int limit = site.node.types[0].dtype == DType::kF16   ? 13
              : site.node.types[0].dtype == DType::kF64 ? 1021
                                                        : 125;
  if (std::abs(exponent - 1) > limit) return std::nullopt;
  return site.add(Op::kMultiply, {lhs(site), site.splat(site.node.types[0], 1 / value)},
                  site.node.types[0]);
}

Replacement select_known(const RewriteSite& site) {
  const std::vector<Value>& v = site.node.operands;
  if (v[1] == v[2]) return v[1];
  if (const Literal* p = splat_value(site.out, v[0])) return p->get_int(0) ? v[1] : v[2];
  if (const Node* inner = defined_by(site, 0, Op::kNot))
    return site.add(Op::kSelect, {inner->operands[0], v[2], v[1]}, site.node.types[0]);
  const Node* broadcast = defined_by(site, 0, Op::kBroadcastInDim);
  if (!broadcast || site.out.node(broadcast->operands[0]).op != Op::kNot) return std::nullopt;
  const Node copy = *broadcast;  // adding nodes may move it
  const Value inner = site.out.node(copy.operands[0]).operands[0];
  const Value predicate = site.add(copy.op, {inner}, copy.types[0], copy.attrs);
  return site.add(Op::kSelect, {predicate, v[2], v[1]}, site.node.types[0]);
}

ComparisonDirection inverted(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kEq: return ComparisonDirection::kNe;
    case ComparisonDirection::kNe: return ComparisonDirection::kEq;
    case ComparisonDirection::kLt: return ComparisonDirection::kGe;
    case ComparisonDirection::kLe: return ComparisonDirection::kGt;
    case ComparisonDirection::kGt: return ComparisonDirection::kLe;
    case ComparisonDirection::kGe: return ComparisonDirection::kLt;
  }
  return direction;
}

Value compare_as(const RewriteSite& site, const Node& compare, std::vector<Value> operands,
                 ComparisonDirection direction) {
  Attrs attrs = compare.attrs;
  attrs.edit<CompareAttrs>().comparison_direction = direction;
  return site.add(Op::kCompare, std::move(operands), compare.types[0], std::move(attrs));
}

Replacement compare_constant_right(const RewriteSite& site) {
  if (!is_constant_like(site, 0) || is_constant_like(site, 1)) return std::nullopt;
  return compare_as(site, site.node, {site.node.operands[1], lhs(site)},
                    mirrored(site.node.attrs.as<CompareAttrs>().comparison_direction));
}

// p != false and p == true are p.
Replacement compare_with_truth(const RewriteSite& site) {
  if (site.operand_type(0).dtype != DType::kBool) return std::nullopt;
  ComparisonDirection direction = site.node.attrs.as<CompareAttrs>().comparison_direction;
  bool same = (direction == ComparisonDirection::kNe && is_number(site, 1, 0)) ||
              (direction == ComparisonDirection::kEq && is_number(site, 1, 1));
  return same ? Replacement(lhs(site)) : std::nullopt;
}

// A truth as a number, 0 or 1, is told apart from one of the two by the truth itself.
Replacement compare_number_of_truth(const RewriteSite& site) {
  const Node* number = defined_by(site, 0, Op::kConvert);
  if (!number) return std::nullopt;
  const Value truth = number->operands[0];
  ComparisonDirection direction = site.node.attrs.as<CompareAttrs>().comparison_direction;
  const bool equal = direction == ComparisonDirection::kEq;
  const bool one = is_number(site, 1, 1);
  if (site.out.type(truth).dtype != DType::kBool || !(one || is_number(site, 1, 0)) ||
      !(equal || direction == ComparisonDirection::kNe))
    return std::nullopt;
  if (one == equal) return truth;
  return site.add(Op::kNot, {truth}, site.out.type(truth));
}

// not(a < b) is a >= b unless a NaN makes both false.
Replacement not_compare(const RewriteSite& site) {
  const Node* compare = defined_by(site, 0, Op::kCompare);
  if (!compare) return std::nullopt;
  ComparisonDirection direction = compare->attrs.as<CompareAttrs>().comparison_direction;
  bool total = !is_float(site.out.type(compare->operands[0]).dtype) ||
               compare->attrs.as<CompareAttrs>().compare_type == CompareType::kTotalOrder;
  if (!total && direction != ComparisonDirection::kEq && direction != ComparisonDirection::kNe)
    return std::nullopt;
  Node copy = *compare;  // adding nodes may move it
  return compare_as(site, copy, copy.operands, inverted(direction));
}

// The sign of an integer, compared: quotients that are rounded down ask for it.
Replacement compare_sign(const RewriteSite& site) {
  const Node* sign = defined_by(site, 0, Op::kSign);
  const auto direction = site.node.attrs.as<CompareAttrs>().comparison_direction;
  const bool equal = direction == ComparisonDirection::kEq;
  if (!sign || !is_signed_int(site.operand_type(0).dtype) ||
      (!equal && direction != ComparisonDirection::kNe))
    return std::nullopt;
  ComparisonDirection of_number;
  if (is_number(site, 1, 0))
    of_number = direction;
  else if (is_number(site, 1, 1))
    of_number = equal ? ComparisonDirection::kGt : ComparisonDirection::kLe;
  else if (is_number(site, 1, -1))
    of_number = equal ? ComparisonDirection::kLt : ComparisonDirection::kGe;
  else
    return std::nullopt;
  const Value number = sign->operands[0];
  const Value zero = site.splat(site.out.type(number), 0);
  return site.add(Op::kCompare, {number, zero}, site.node.types[0], CompareAttrs{of_number});
}

// Which of less, equal and greater make a comparison true.
constexpr int kLess = 1, kEqual = 2, kGreater = 4;
int orders_of(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kLt: return kLess;
    case ComparisonDirection::kEq: return kEqual;
    case ComparisonDirection::kLe: return kLess | kEqual;
    case ComparisonDirection::kGt: return kGreater;
    case ComparisonDirection::kNe: return kLess | kGreater;
    case ComparisonDirection::kGe: return kEqual | kGreater;
  }
  return 0;
}

// Two comparisons of the same integers, one of which says all: remainders ask for both.
Replacement implied_compare(const RewriteSite& site) {
  const Node &a = site.operand(0), &b = site.operand(1);
  if (a.op != Op::kCompare || b.op != Op::kCompare || a.operands != b.operands ||
      !is_integer(site.out.type(a.operands[0]).dtype))
    return std::nullopt;
  const int of_a = orders_of(a.attrs.as<CompareAttrs>().comparison_direction);
  const int of_b = orders_of(b.attrs.as<CompareAttrs>().comparison_direction);
  const int kept = site.node.op == Op::kAnd ? of_a & of_b : of_a | of_b;
  if (kept == of_a) return site.node.operands[0];
  if (kept == of_b) return site.node.operands[1];
  return std::nullopt;
}

constexpr Rule kArithmeticRules[] = {
    {Op::kAdd, constant_right},
    {Op::kMultiply, constant_right},
    {Op::kMaximum, constant_right},
    {Op::kMinimum, constant_right},
    {Op::kAnd, constant_right},
    {Op::kOr, constant_right},
    {Op::kXor, constant_right},
    {Op::kCompare, compare_constant_right},
    {Op::kAdd, add_identity},
    {Op::kAdd, negated_term},
    {Op::kSubtract, zero_identity},
    {Op::kSubtract, negated_term},
    {Op::kSubtract, integer_cancels},
    {Op::kMultiply, unit_identity},
    {Op::kMultiply, integer_zero_absorbs},
    {Op::kMultiply, negated_factor},
    {Op::kDivide, unit_identity},
    {Op::kDivide, divide_by_power_of_two},
    {Op::kAnd, idempotent},
    {Op::kAnd, implied_compare},
    {Op::kAnd, ones_identity},
    {Op::kAnd, integer_zero_absorbs},
    {Op::kOr, idempotent},
    {Op::kOr, implied_compare},
    {Op::kOr, zero_identity},
    {Op::kOr, ones_absorb},
    {Op::kXor, zero_identity},
    {Op::kXor, integer_cancels},
    {Op::kMaximum, idempotent},
    {Op::kMaximum, maximum_identity},
    {Op::kMinimum, idempotent},
    {Op::kMinimum, minimum_identity},
    {Op::kShiftLeft, zero_identity},
    {Op::kShiftRightLogical, zero_identity},
    {Op::kShiftRightArithmetic, zero_identity},
    {Op::kNegate, involution},
    {Op::kNot, involution},
    {Op::kAbs, abs_of_sign},
    {Op::kSelect, select_known},
    {Op::kCompare, compare_with_truth},
    {Op::kCompare, compare_number_of_truth},
    {Op::kCompare, compare_sign},
    {Op::kNot, not_compare},
};

}  // namespace

Values arithmetic(const RewriteSite& site) { return first_that_applies(kArithmeticRules, site); }

}  // namespace tuff::canonical
