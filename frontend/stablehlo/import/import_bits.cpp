// Operations about a number's parts: real and imag of real numbers, and bit casts
// to and from single bits, which the Graph (where an i1 is a byte) has no node for.
#include <fmt/format.h>

#include "frontend/stablehlo/import/expression.h"

namespace tuff::stablehlo {

namespace {

using Ints = std::vector<int64_t>;

DType unsigned_of(int64_t size) {
  return size == 1 ? DType::kU8 : size == 2 ? DType::kU16 : size == 4 ? DType::kU32 : DType::kU64;
}

Value broadcast(const OpContext& context, Value value, TensorType type, Ints dims) {
  return context.add(Op::kBroadcastInDim, {value}, std::move(type),
                     BroadcastInDimAttrs{std::move(dims)});
}

// 0, 1, 2 ... along the last dimension.
Value bit_numbers(const OpContext& context, const TensorType& type) {
  return context.add(Op::kIota, {}, type, IotaAttrs{type.rank() - 1});
}

// [...] of T to [..., bits] of i1, lowest bit first.
OpResult to_bits(OpContext& context, const TensorType& from, const TensorType& to) {
  DType word = unsigned_of(dtype_size(from.dtype));
  Expr x = Expr(context, context.operands[0]).bitcast(word);
  Ints dims;
  for (int64_t i = 0; i < from.rank(); ++i) dims.push_back(i);
  TensorType wide{word, to.shape};
  Expr spread(context, broadcast(context, x.value(), wide, std::move(dims)));
  Expr shifted =
      spread.binary(Op::kShiftRightLogical, {Expr(context, bit_numbers(context, wide))}, wide);
  return Values{not_equal(shifted & shifted.like_bits(1), shifted.like_bits(0)).value()};
}

// [..., bits] of i1 to [...] of T: the bits in their places, joined by or.
OpResult from_bits(OpContext& context, const TensorType& from, const TensorType& to) {
  DType word = unsigned_of(dtype_size(to.dtype));
  TensorType wide{word, from.shape};
  Expr bits = Expr(context, context.operands[0]).convert(word);
  Expr placed = bits.binary(Op::kShiftLeft, {Expr(context, bit_numbers(context, wide))}, wide);
  auto body = std::make_shared<Graph>();
  Value a = body->add_parameter({word, {}}), b = body->add_parameter({word, {}});
  body->set_outputs({add_op(*body, Op::kOr, {a, b}, {word, {}})});
  Node reduce;
  reduce.op = Op::kReduce;
  reduce.operands = {placed.value(),
                     add_constant(context.graph(), Literal(TensorType{word, {}}), context.loc)};
  reduce.types = {{word, to.shape}};
  reduce.attrs = DimensionsAttrs{{from.rank() - 1}};
  reduce.regions = {body};
  TUFF_ASSIGN(Values joined, context.add_checked(std::move(reduce)));
  return Values{Expr(context, joined[0]).bitcast(to.dtype).value()};
}

OpResult import_bitcast(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_operands(1));
  TUFF_RETURN_IF_ERROR(context.expect_results(1));
  const TensorType from = context.type(context.operands[0]);
  const TensorType& to = context.types[0];
  bool from_bool = from.dtype == DType::kBool, to_bool = to.dtype == DType::kBool;
  if (from_bool == to_bool)
    return from_bool ? OpResult(context.operands) : import_table_op(context);
  const TensorType& bits = to_bool ? to : from;
  const TensorType& words = to_bool ? from : to;
  Shape expected = words.shape;
  expected.push_back(dtype_size(words.dtype) * 8);
  if (bits.shape != expected)
    return context.bad(
        fmt::format("({}) does not have the bits of ({}).", bits.to_string(), words.to_string()));
  return to_bool ? to_bits(context, from, to) : from_bits(context, from, to);
}

OpResult import_part(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_operands(1));
  Expr x(context, context.operands[0]);
  if (!is_float(x.type().dtype)) return context.bad("The operation is defined for floats.");
  return Values{context.op.name == "stablehlo.real" ? x.value() : x.like(0.0).value()};
}

}  // namespace

Handler find_bits_handler(std::string_view name) {
  if (name == "stablehlo.bitcast_convert") return import_bitcast;
  if (name == "stablehlo.real" || name == "stablehlo.imag") return import_part;
  return nullptr;
}

}  // namespace tuff::stablehlo
