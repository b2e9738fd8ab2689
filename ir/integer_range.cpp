#include "ir/integer_range.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace tuff {

namespace {

constexpr IntegerRange kAnything{};

IntegerRange range_of_type(DType dtype) {
  int64_t bits = 8 * dtype_size(dtype);
  if (dtype == DType::kBool) return {0, 1};
  if (bits == 64) return kAnything;
  if (is_unsigned_int(dtype)) return {0, (int64_t{1} << bits) - 1};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

IntegerRange hull(const IntegerRange& a, const IntegerRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

IntegerRange range_of_literal(const Literal& literal) {
  constexpr int64_t kMostElements = 1 << 16;  // larger ones are tables, and no arithmetic
  int64_t count = literal.is_splat() ? 1 : literal.num_elements();
  if (count == 0 || count > kMostElements) return range_of_type(literal.type().dtype);
  IntegerRange range{literal.get_int(0), literal.get_int(0)};
  for (int64_t i = 1; i < count; ++i) {
    int64_t value = literal.get_int(i);
    range = hull(range, {value, value});
  }
  return range;
}

// What the four pairs of ends span, if `combine` is monotonic in each; it is false on overflow.
template <typename Combine>
IntegerRange of_ends(const IntegerRange& a, const IntegerRange& b, Combine combine) {
  std::optional<IntegerRange> range;
  for (int64_t x : {a.low, a.high})
    for (int64_t y : {b.low, b.high}) {
      int64_t end = 0;
      if (!combine(x, y, &end)) return kAnything;
      range = range ? hull(*range, {end, end}) : IntegerRange{end, end};
    }
  return *range;
}

// The magnitude of a quotient or remainder is at most the dividend's. A quotient by 0 is -1 or
// all ones; a remainder by 0 is the dividend.
IntegerRange magnitudes_of(const IntegerRange& a) {
  if (a.low == INT64_MIN) return kAnything;
  int64_t most = std::max(-a.low, a.high);
  return {-most, most};
}

IntegerRange divide(const IntegerRange& a, const IntegerRange& b) {
  if (a.low >= 0 && b.low >= 1) return {a.low / b.high, a.high / b.low};
  return hull(magnitudes_of(a), {-1, 0});
}

IntegerRange remainder(const IntegerRange& a, const IntegerRange& b) {
  IntegerRange range = a.low >= 0 ? IntegerRange{0, a.high} : magnitudes_of(a);
  if (b.low < 1) return range;
  return {a.low >= 0 ? 0 : std::max(range.low, 1 - b.high), std::min(range.high, b.high - 1)};
}

IntegerRange bitwise_and(const IntegerRange& a, const IntegerRange& b) {
  if (a.low < 0 && b.low < 0) return kAnything;
  return {0, std::min(a.low >= 0 ? a.high : INT64_MAX, b.low >= 0 ? b.high : INT64_MAX)};
}

// Of `or` and `xor`: as many bits as the wider one has.
IntegerRange bitwise_or(const IntegerRange& a, const IntegerRange& b) {
  if (a.low < 0 || b.low < 0) return kAnything;
  auto most = static_cast<uint64_t>(std::max(a.high, b.high));
  return {0, static_cast<int64_t>(~uint64_t{0} >> 1 >> (std::countl_zero(most | 1) - 1))};
}

IntegerRange of_binary(Op op, const IntegerRange& a, const IntegerRange& b) {
  switch (op) {
    case Op::kAdd:
      return of_ends(
          a, b, [](int64_t x, int64_t y, int64_t* r) { return !__builtin_add_overflow(x, y, r); });
    case Op::kSubtract:
      return of_ends(
          a, b, [](int64_t x, int64_t y, int64_t* r) { return !__builtin_sub_overflow(x, y, r); });
    case Op::kMultiply:
      return of_ends(
          a, b, [](int64_t x, int64_t y, int64_t* r) { return !__builtin_mul_overflow(x, y, r); });
    case Op::kMinimum: return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Op::kMaximum: return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case Op::kDivide: return divide(a, b);
    case Op::kRemainder: return remainder(a, b);
    case Op::kAnd: return bitwise_and(a, b);
    case Op::kOr:
    case Op::kXor: return bitwise_or(a, b);
    case Op::kShiftRightArithmetic:
      return {std::min<int64_t>(a.low, 0), std::max<int64_t>(a.high, 0)};
    case Op::kShiftRightLogical: return a.low >= 0 ? IntegerRange{0, a.high} : kAnything;
    default: return kAnything;
  }
}

IntegerRange of_unary(Op op, const IntegerRange& a) {
  switch (op) {
    case Op::kNegate: return a.low == INT64_MIN ? kAnything : IntegerRange{-a.high, -a.low};
    case Op::kAbs:
      if (a.low == INT64_MIN) return kAnything;
      return {a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, std::max(-a.low, a.high)};
    case Op::kSign: return {a.low < 0 ? -1 : 0, a.high > 0 ? 1 : 0};
    case Op::kNot: return {~a.high, ~a.low};
    default: return kAnything;
  }
}

// By arithmetic without end: `of` checks that the type holds it.
IntegerRange unbounded(IntegerRanges& ranges, const Graph& graph, const Node& node) {
  auto operand = [&](size_t i) { return ranges.of(graph, node.operands[i]); };
  switch (node.op) {
    case Op::kConstant: return range_of_literal(node.attrs.as<ConstantAttrs>().value);
    case Op::kIota: {
      int64_t size =
          node.types[0].shape[static_cast<size_t>(node.attrs.as<IotaAttrs>().iota_dimension)];
      return {0, std::max<int64_t>(size - 1, 0)};
    }
    case Op::kConvert: return is_float(graph.type(node.operands[0]).dtype) ? kAnything : operand(0);
    case Op::kBroadcastInDim:
    case Op::kReshape:
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kReverse:
    case Op::kDynamicSlice:
    case Op::kGather: return operand(0);
    case Op::kDynamicUpdateSlice:
    case Op::kPad:
    case Op::kConcatenate: {
      IntegerRange range = operand(0);
      size_t count = node.op == Op::kConcatenate ? node.operands.size() : 2;
      for (size_t i = 1; i < count; ++i) range = hull(range, operand(i));
      return range;
    }
    case Op::kSelect: return hull(operand(1), operand(2));
    case Op::kClamp:
      return of_binary(Op::kMinimum, of_binary(Op::kMaximum, operand(1), operand(0)), operand(2));
    default: break;
  }
  if (!is_elementwise(node.op) || node.op == Op::kCompare) return kAnything;
  // It copies the top bit of the element's own type, of unsigned ones too.
  DType dtype = node.types[0].dtype;
  if (node.op == Op::kShiftRightArithmetic && is_unsigned_int(dtype) && dtype != DType::kU64)
    return kAnything;
  if (node.operands.size() == 1) return of_unary(node.op, operand(0));
  return node.operands.size() == 2 ? of_binary(node.op, operand(0), operand(1)) : kAnything;
}

// u64 values that may be above INT64_MAX have no order here.
bool has_unordered(IntegerRanges& ranges, const Graph& graph, const Node& node) {
  return std::any_of(node.operands.begin(), node.operands.end(), [&](Value v) {
    return graph.type(v).dtype == DType::kU64 && ranges.of(graph, v).low < 0;
  });
}

}  // namespace

IntegerRange IntegerRanges::of(const Graph& graph, Value v) {
  if (auto it = known_.find(v); it != known_.end()) return it->second;
  const Node& node = graph.node(v);
  DType dtype = graph.type(v).dtype;
  IntegerRange range = range_of_type(dtype);
  if (is_integer(dtype) && v.result == 0 && node.types.size() == 1 &&
      !(is_elementwise(node.op) && has_unordered(*this, graph, node))) {
    IntegerRange found = unbounded(*this, graph, node);
    bool fits = found.within(range) && (dtype != DType::kU64 || found.low >= 0);
    if (fits) range = found;
  }
  return known_[v] = range;
}

}  // namespace tuff
