// Elementwise nodes: compare, select, clamp, and the choice of a function.
#include "ir/evaluate/elementwise.h"

#include <algorithm>
#include <limits>

#include "ir/evaluate/ops.h"

namespace tuff::eval {

namespace {

// Maps a float to a signed integer whose order is IEEE 754 totalOrder:
// -NaN < -inf < ... < -0 < +0 < ... < inf < NaN.
template <typename T>
int64_t total_order_key(T value) {
  using S = std::conditional_t<sizeof(T) == 2, int16_t,
                               std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>;
  auto bits = std::bit_cast<S>(value);
  return bits < 0 ? bits ^ std::numeric_limits<S>::max() : bits;
}

template <typename T, typename F>
ElementwiseFunction make_total_order(F) {
  return [](const ElementwiseCall& call) {
    auto* a = reinterpret_cast<const T*>(call.operands[0]);
    auto* b = reinterpret_cast<const T*>(call.operands[1]);
    auto* out = reinterpret_cast<Boolean*>(call.result);
    for (int64_t i = 0; i < call.count; ++i)
      out[i] = {static_cast<uint8_t>(F{}(total_order_key(a[i]), total_order_key(b[i])) ? 1 : 0)};
  };
}

template <typename Make>
ElementwiseFunction by_direction(ComparisonDirection direction, Make make) {
  switch (direction) {
    case ComparisonDirection::kEq: return make([](auto a, auto b) { return a == b; });
    case ComparisonDirection::kNe: return make([](auto a, auto b) { return a != b; });
    case ComparisonDirection::kLt: return make([](auto a, auto b) { return a < b; });
    case ComparisonDirection::kLe: return make([](auto a, auto b) { return a <= b; });
    case ComparisonDirection::kGt: return make([](auto a, auto b) { return a > b; });
    case ComparisonDirection::kGe: return make([](auto a, auto b) { return a >= b; });
  }
  return nullptr;
}

template <typename T>
void select(const ElementwiseCall& call) {
  auto* predicate = reinterpret_cast<const Boolean*>(call.operands[0]);
  auto* on_true = reinterpret_cast<const T*>(call.operands[1]);
  auto* on_false = reinterpret_cast<const T*>(call.operands[2]);
  auto* out = reinterpret_cast<T*>(call.result);
  for (int64_t i = 0; i < call.count; ++i) out[i] = widen(predicate[i]) ? on_true[i] : on_false[i];
}

// clamp(min, x, max) = minimum(maximum(x, min), max).
template <typename T>
void clamp(const ElementwiseCall& call) {
  auto* low = reinterpret_cast<const T*>(call.operands[0]);
  auto* x = reinterpret_cast<const T*>(call.operands[1]);
  auto* high = reinterpret_cast<const T*>(call.operands[2]);
  auto* out = reinterpret_cast<T*>(call.result);
  for (int64_t i = 0; i < call.count; ++i)
    out[i] = narrow<T>(Minimum{}(Maximum{}(widen(x[i]), widen(low[i])), widen(high[i])));
}

// A scalar operand of select or clamp stands for a tensor of that value.
Literal spread_scalar(const Literal& literal, const Shape& shape) {
  if (literal.type().shape == shape) return literal;
  int64_t size = dtype_size(literal.type().dtype), n = num_elements(shape);
  std::vector<std::byte> bytes(static_cast<size_t>(n * size));
  for (int64_t i = 0; i < n; ++i) std::copy_n(literal.bytes(), size, bytes.data() + i * size);
  return Literal(TensorType{literal.type().dtype, shape}, std::move(bytes));
}

}  // namespace

ElementwiseFunction compare_function(ComparisonDirection direction, bool total_order, DType dtype) {
  return dispatch(dtype, [&]<typename T>(Tag<T>) -> ElementwiseFunction {
    if constexpr (kIsFloat<T>)
      if (total_order)
        return by_direction(direction, [](auto f) { return make_total_order<T>(f); });
    return by_direction(direction, [](auto f) { return make_predicate<T>(f); });
  });
}

size_t value_operand(Op op) { return op == Op::kSelect || op == Op::kClamp ? 1 : 0; }

void set_precision(const Node& node, ElementwiseCall* call) {
  auto* precision = node.attrs.find<ReducePrecisionAttrs>();
  if (!precision) return;
  call->exponent_bits = static_cast<int>(precision->exponent_bits);
  call->mantissa_bits = static_cast<int>(precision->mantissa_bits);
}

Result<ElementwiseFunction> elementwise_function(const Node& node, DType operand) {
  ElementwiseFunction function = nullptr;
  switch (node.op) {
    case Op::kCompare:
      function = compare_function(
          node.attrs.as<CompareAttrs>().comparison_direction,
          node.attrs.as<CompareAttrs>().compare_type == CompareType::kTotalOrder, operand);
      break;
    case Op::kConvert: function = convert_function(operand, node.types[0].dtype); break;
    case Op::kSelect:
      function =
          dispatch(operand, []<typename T>(Tag<T>) -> ElementwiseFunction { return select<T>; });
      break;
    case Op::kClamp:
      function =
          dispatch(operand, []<typename T>(Tag<T>) -> ElementwiseFunction { return clamp<T>; });
      break;
    default:
      function = operand == DType::kBool ? boolean_function(node.op)
                 : is_float(operand)     ? float_function(node.op, operand)
                                         : integer_function(node.op, operand);
  }
  if (!function)
    return unsupported(
        node, std::string("is not defined for element type (") + dtype_name(operand) + ")");
  return function;
}

Result<Literals> evaluate_elementwise(const Node& node, const Literals& operands) {
  TUFF_ASSIGN(ElementwiseFunction function,
              elementwise_function(node, operands[value_operand(node.op)].type().dtype));
  Literal result(node.types[0]);
  Literals spread = operands;
  ElementwiseCall call;
  for (size_t i = 0; i < operands.size(); ++i) {
    spread[i] = spread_scalar(operands[i], node.types[0].shape);
    call.operands[i] = spread[i].bytes();
  }
  call.result = result.mutable_bytes();
  call.count = result.num_elements();
  set_precision(node, &call);
  function(call);
  return Literals{std::move(result)};
}

}  // namespace tuff::eval
