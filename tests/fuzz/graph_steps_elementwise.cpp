// Elementwise operations, and the views that only move elements.
#include <algorithm>
#include <numeric>
#include <optional>

#include "tests/fuzz/graph_builder.h"

namespace tuff::fuzz {

namespace {

void add_convert(GraphBuilder& b, Value x) {
  constexpr DType kTypes[] = {DType::kBool, DType::kI8,  DType::kI32, DType::kI64, DType::kU8,
                              DType::kU32,  DType::kF16, DType::kF32, DType::kBF16};
  b.add(Op::kConvert, {x}, {}, {kTypes[b.pick(9)], b.shape(x)});
}

std::optional<Value> add_compare(GraphBuilder& b, Value x, Value y) {
  DType dtype = b.type(x).dtype;
  CompareAttrs attrs{static_cast<ComparisonDirection>(b.pick(6)), compare_type_of(dtype)};
  if (is_float(dtype) && b.chance(4)) {
    // The sign of a NaN that comes of numbers is any, and counts here.
    auto left = b.with_one_nan(x), right = b.with_one_nan(y);
    if (!left || !right) return std::nullopt;
    x = *left, y = *right;
    attrs.compare_type = CompareType::kTotalOrder;
  }
  return b.add(Op::kCompare, {x, y}, attrs, {DType::kBool, b.shape(x)});
}

// A mask as indices and attention have it: 64-bit numbers against constants, combined.
void add_bounds(GraphBuilder& b, Value x) {
  TensorType wide{b.chance(4) ? DType::kU64 : DType::kI64, b.shape(x)};
  std::optional<Value> number = b.add(Op::kConvert, {x}, {}, wide);
  if (number && b.chance(2))
    number = b.add(b.chance(2) ? Op::kAdd : Op::kMultiply, {*number, *number}, {}, wide);
  auto bound = [&]() -> std::optional<Value> {
    Value scalar = b.constant(Literal::scalar(wide.dtype, static_cast<double>(b.pick(9))));
    auto limit = b.add(Op::kBroadcastInDim, {scalar}, BroadcastInDimAttrs{}, wide);
    return limit ? add_compare(b, *number, *limit) : std::nullopt;
  };
  std::optional<Value> low = number ? bound() : std::nullopt;
  std::optional<Value> high = low ? bound() : std::nullopt;
  if (high) b.add(b.chance(2) ? Op::kAnd : Op::kOr, {*low, *high}, {}, b.type(*low));
}

// Splits the elements anew: factors of the count in random order.
void add_reshape(GraphBuilder& b, Value x) {
  int64_t rest = num_elements(b.shape(x));
  Shape to;
  if (rest == 0) {
    b.add(Op::kReshape, {x}, {}, {b.type(x).dtype, {3, 0}});
    return;
  }
  for (int64_t f : {7, 5, 3, 2})
    while (rest % f == 0 && rest > 1) {
      rest /= f;
      if (!to.empty() && (b.chance(2) || to.size() > 3))
        to[static_cast<size_t>(b.pick(static_cast<int64_t>(to.size())))] *= f;
      else
        to.push_back(f);
    }
  if (rest > 1) to.push_back(rest);
  if (b.chance(4)) to.push_back(1);
  std::shuffle(to.begin(), to.end(), b.random());
  b.add(Op::kReshape, {x}, {}, {b.type(x).dtype, to});
}

void add_slice(GraphBuilder& b, Value x) {
  Ints starts, limits, strides;
  for (int64_t size : b.shape(x)) {
    starts.push_back(size == 0 ? 0 : b.pick(size));
    limits.push_back(size == 0 ? 0 : starts.back() + 1 + b.pick(size - starts.back()));
    strides.push_back(1 + b.pick(3));
  }
  b.add(Op::kSlice, {x},
        SliceAttrs{.start_indices = starts, .limit_indices = limits, .strides = strides},
        b.type(x));
}

void add_pad(GraphBuilder& b, Value x) {
  Ints low, high, interior;
  for (size_t i = 0; i < b.shape(x).size(); ++i) {
    low.push_back(b.pick(4) - 1);
    high.push_back(b.pick(4) - 1);
    interior.push_back(b.chance(3));
  }
  b.add(Op::kPad, {x, b.scalar(b.type(x).dtype)},
        PadAttrs{.edge_padding_low = low, .edge_padding_high = high, .interior_padding = interior},
        b.type(x));
}

void add_concatenate(GraphBuilder& b, Value x) {
  if (b.shape(x).empty()) return;
  auto d = static_cast<size_t>(b.pick(static_cast<int64_t>(b.shape(x).size())));
  std::vector<Value> parts = {x};
  auto fits = [&](Value v) {
    TensorType type = b.type(v);
    if (type.shape.size() == b.shape(x).size()) type.shape[d] = b.shape(x)[d];
    return type == b.type(x);
  };
  for (int64_t more = b.pick(3); more > 0; --more)
    if (auto v = b.find(fits)) parts.push_back(*v);
  b.add(Op::kConcatenate, parts, ConcatenateAttrs{static_cast<int64_t>(d)}, b.type(x));
}

void add_broadcast(GraphBuilder& b, Value x) {
  Shape to;
  Ints dims;
  for (int64_t size : b.shape(x)) {
    if (b.chance(4)) to.push_back(1 + b.pick(4));
    dims.push_back(static_cast<int64_t>(to.size()));
    to.push_back(size == 1 && b.chance(2) ? 3 : size);
  }
  if (to.size() < 5 && b.chance(2)) to.push_back(1 + b.pick(5));
  if (to.size() <= 5)
    b.add(Op::kBroadcastInDim, {x}, BroadcastInDimAttrs{dims}, {b.type(x).dtype, to});
}

// Between integers: a float made of any bits may be a NaN, whose bits are no one's.
void add_bitcast(GraphBuilder& b, Value x) {
  constexpr DType kTypes[] = {DType::kI8,  DType::kU8,  DType::kI16,
                              DType::kU16, DType::kI32, DType::kU32};
  if (is_integer(b.type(x).dtype))
    b.add(Op::kBitcastConvert, {x}, {}, {kTypes[b.pick(6)], b.shape(x)});
}

void add_iota(GraphBuilder& b, Value like) {
  if (b.shape(like).empty() || b.type(like).dtype == DType::kBool) return;
  b.add(Op::kIota, {}, IotaAttrs{b.pick(static_cast<int64_t>(b.shape(like).size()))}, b.type(like));
}

}  // namespace

void step_elementwise(GraphBuilder& b, Op op) {
  auto defined = [&](Value v) { return op_body(op, b.type(v).dtype) != nullptr; };
  Value x = b.any();
  if (op == Op::kConvert) return add_convert(b, x);
  if (op != Op::kCompare && !defined(x)) {
    auto other = b.find(defined);
    if (!other) return;
    x = *other;
  }
  auto partner = [&] { return *b.find([&](Value v) { return b.type(v) == b.type(x); }); };
  TypeRule rule = op_info(op).type_rule;
  if (op == Op::kCompare) {
    if (is_integer(b.type(x).dtype) && b.chance(3)) return add_bounds(b, x);
    add_compare(b, x, partner());
    return;
  }
  if (rule == TypeRule::kSelect) {
    auto mask = b.find([&](Value v) { return b.type(v) == TensorType{DType::kBool, b.shape(x)}; });
    if (mask) b.add(op, {*mask, x, partner()}, {}, b.type(x));
    return;
  }
  if (rule == TypeRule::kPrecision) {
    ReducePrecisionAttrs attrs{2 + b.pick(8), 1 + b.pick(12)};
    b.add(op, {x}, attrs, b.type(x));
    return;
  }
  std::vector<Value> operands = {x};
  while (static_cast<int>(operands.size()) < op_info(op).min_operands)
    operands.push_back(partner());
  b.add(op, operands, {}, b.type(x));
}

void step_movement(GraphBuilder& b, Op op) {
  Value x = b.any(/*moved=*/true);
  auto rank = static_cast<int64_t>(b.shape(x).size());
  switch (op) {
    case Op::kIota: return add_iota(b, x);
    case Op::kBitcastConvert: return add_bitcast(b, x);
    case Op::kBroadcastInDim: return add_broadcast(b, x);
    case Op::kReshape: return add_reshape(b, x);
    case Op::kSlice: return add_slice(b, x);
    case Op::kPad: return add_pad(b, x);
    case Op::kConcatenate: return add_concatenate(b, x);
    case Op::kReverse: {
      Ints dims;
      for (int64_t d = 0; d < rank; ++d)
        if (b.chance(2)) dims.push_back(d);
      b.add(op, {x}, DimensionsAttrs{dims}, b.type(x));
      return;
    }
    default: {
      Ints order(static_cast<size_t>(rank));
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), b.random());
      b.add(op, {x}, TransposeAttrs{order}, b.type(x));
    }
  }
}

}  // namespace tuff::fuzz
