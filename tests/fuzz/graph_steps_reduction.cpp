// Operations that fold or order elements.
#include <algorithm>

#include "tests/fuzz/graph_builder.h"

namespace tuff::fuzz {

namespace {

Op pick_fold(GraphBuilder& b, DType dtype) {
  constexpr Op kBits[] = {Op::kAnd, Op::kOr, Op::kXor};
  constexpr Op kNumbers[] = {Op::kAdd, Op::kMaximum, Op::kMinimum};
  if (dtype == DType::kBool) return kBits[b.pick(2)];
  return is_integer(dtype) && b.chance(4) ? kBits[b.pick(3)] : kNumbers[b.pick(3)];
}

// The largest element and its first position, as argmax is written.
GraphPtr argmax_region(DType dtype) {
  auto body = std::make_shared<Graph>();
  for (DType d : {dtype, DType::kI32, dtype, DType::kI32}) body->add_parameter({d, {}});
  auto compare = [&](ComparisonDirection direction, Value x, Value y, DType of) {
    return add_op(*body, Op::kCompare, {x, y}, {DType::kBool, {}},
                  CompareAttrs{direction, compare_type_of(of)});
  };
  Value a{0, 0}, i{1, 0}, c{2, 0}, j{3, 0};
  auto both = [&](Op op, Value x, Value y) {
    return add_op(*body, op, {x, y}, {DType::kBool, {}});
  };
  Value wins = both(Op::kOr, compare(ComparisonDirection::kGt, a, c, dtype),
                    compare(ComparisonDirection::kNe, a, a, dtype));
  Value tie = both(Op::kAnd, compare(ComparisonDirection::kEq, a, c, dtype),
                   compare(ComparisonDirection::kLt, i, j, DType::kI32));
  Value first = both(Op::kOr, wins, tie);
  body->set_outputs({add_op(*body, Op::kSelect, {wins, a, c}, {dtype, {}}),
                     add_op(*body, Op::kSelect, {first, i, j}, {DType::kI32, {}})});
  return body;
}

void add_reduce(GraphBuilder& b, Value x) {
  DType dtype = b.type(x).dtype;
  Ints dims;
  for (size_t d = 0; d < b.shape(x).size(); ++d)
    if (b.chance(2)) dims.push_back(static_cast<int64_t>(d));
  Attrs attrs = DimensionsAttrs{dims};
  if (b.chance(4) && dtype != DType::kBool && b.integral(x) && !b.shape(x).empty()) {
    auto positions = b.add(Op::kIota, {}, IotaAttrs{0}, {DType::kI32, b.shape(x)});
    if (positions)
      b.add(Op::kReduce,
            {x, *positions, b.constant(Literal::scalar(dtype, is_unsigned_int(dtype) ? 0 : -9)),
             b.constant(Literal::scalar(DType::kI32, 0))},
            attrs, b.type(x), {argmax_region(dtype)}, 2);
    return;
  }
  Op fold = pick_fold(b, dtype);
  std::optional<Value> from = fold == Op::kAdd ? b.summable(x) : x;
  if (from)
    b.add(Op::kReduce, {*from, b.constant(Literal::scalar(dtype, static_cast<double>(b.pick(2))))},
          attrs, b.type(x), {b.binary_region(fold, dtype)});
}

Attrs window_attrs(GraphBuilder& b, const Shape& shape, bool dilated) {
  Ints sizes, strides, base, dilations, padding;
  for (int64_t size : shape) {
    bool slides = size > 1 && b.chance(2);
    sizes.push_back(slides ? 1 + b.pick(4) : 1);
    strides.push_back(slides ? 1 + b.pick(3) : 1);
    base.push_back(dilated && slides && b.chance(4) ? 2 : 1);
    dilations.push_back(dilated && slides && b.chance(4) ? 2 : 1);
    padding.push_back(slides ? b.pick(3) : 0);
    padding.push_back(slides ? b.pick(3) : 0);
  }
  WindowAttrs attrs{.window_dimensions = sizes, .window_strides = strides, .padding = padding};
  if (dilated) attrs.base_dilations = base;
  if (dilated) attrs.window_dilations = dilations;
  return attrs;
}

void add_reduce_window(GraphBuilder& b, Value x) {
  DType dtype = b.type(x).dtype;
  Op fold = pick_fold(b, dtype);
  std::optional<Value> from = fold == Op::kAdd ? b.summable(x) : x;
  if (from)
    b.add(Op::kReduceWindow,
          {*from, b.constant(Literal::scalar(dtype, static_cast<double>(b.pick(2))))},
          window_attrs(b, b.shape(x), true), b.type(x), {b.binary_region(fold, dtype)});
}

void add_select_and_scatter(GraphBuilder& b, Value x) {
  DType dtype = b.type(x).dtype;
  auto operand = b.summable(x);
  if (dtype == DType::kBool || !operand) return;
  Attrs attrs = window_attrs(b, b.shape(x), false);
  auto windows = b.add(Op::kReduceWindow, {*operand, b.constant(Literal::scalar(dtype, 0))}, attrs,
                       b.type(x), {b.binary_region(Op::kMaximum, dtype)});
  if (!windows) return;
  b.add(Op::kSelectAndScatter, {*operand, *windows, b.constant(Literal::scalar(dtype, 0))}, attrs,
        b.type(x),
        {b.compare_region(ComparisonDirection::kGe, dtype, 1), b.binary_region(Op::kAdd, dtype)});
}

void add_sort(GraphBuilder& b, Value x) {
  if (b.shape(x).empty() || b.type(x).dtype == DType::kBool) return;
  auto key = b.with_one_nan(x);
  if (!key) return;
  std::vector<Value> operands = {*key};
  if (b.chance(2))
    if (auto y = b.find([&](Value v) { return b.type(v) == b.type(x); })) operands.push_back(*y);
  SortAttrs attrs{.dimension = b.pick(static_cast<int64_t>(b.shape(x).size())), .is_stable = true};
  b.add(Op::kSort, operands, attrs, b.type(x),
        {b.compare_region(b.chance(2) ? ComparisonDirection::kLt : ComparisonDirection::kGt,
                          b.type(x).dtype, operands.size())},
        operands.size());
}

void add_top_k(GraphBuilder& b, Value x) {
  if (b.shape(x).empty() || b.type(x).dtype == DType::kBool) return;
  auto key = b.with_one_nan(x);
  if (!key) return;
  b.add(Op::kTopK, {*key}, TopKAttrs{b.pick(b.shape(x).back() + 1)}, b.type(x), {}, 2);
}

}  // namespace

void step_reduction(GraphBuilder& b, Op op) {
  Value x = b.any();
  switch (op) {
    case Op::kReduce: return add_reduce(b, x);
    case Op::kReduceWindow: return add_reduce_window(b, x);
    case Op::kSelectAndScatter: return add_select_and_scatter(b, x);
    case Op::kSort: return add_sort(b, x);
    default: return add_top_k(b, x);
  }
}

}  // namespace tuff::fuzz
