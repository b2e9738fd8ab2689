// Complex numbers: the Graph has none, so a complex tensor is a pair of values, its real and
// its imaginary part. Operations that only move elements, or treat both parts alike, are done
// to each part; those that carry any values carry two; the others are formulas here.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/stablehlo/import/expression.h"
#include "ir/rewrite.h"

namespace tuff::stablehlo {

namespace {

struct Complex {
  Expr re, im;

  Values values() const { return {re.value(), im.value()}; }
};

bool is_zero(const Expr& x) {
  const Literal* all = splat_value(x.context().graph(), x.value());
  return all && all->get_double(0) == 0;
}

// A factor that was converted from a real one costs no more than that.
Complex operator*(const Complex& a, const Complex& b) {
  if (is_zero(b.im)) return {a.re * b.re, a.im * b.re};
  if (is_zero(a.im)) return {a.re * b.re, a.re * b.im};
  Expr rr = a.re * b.re, ii = a.im * b.im, ri = a.re * b.im, ir = a.im * b.re;
  return {rr - ii, ri + ir};
}

// Smith's way: no square of the divisor, which might overflow.
Complex operator/(const Complex& a, const Complex& b) {
  if (is_zero(b.im)) return {a.re / b.re, a.im / b.re};
  Expr by_real = b.re.abs() >= b.im.abs();
  Expr larger = by_real.select(b.re, b.im), smaller = by_real.select(b.im, b.re);
  Expr ratio = smaller / larger, divisor = larger + smaller * ratio;
  Expr re = by_real.select(a.re + a.im * ratio, a.re * ratio + a.im);
  Expr im = by_real.select(a.im - a.re * ratio, a.im * ratio - a.re);
  return {re / divisor, im / divisor};
}

// Where the larger part is 0 or infinite, it is all there is to it.
Expr absolute(const Complex& z) {
  Expr a = z.re.abs(), b = z.im.abs();
  if (is_zero(z.im)) return a;
  Expr larger = a.binary(Op::kMaximum, {b}, a.type()),
       smaller = a.binary(Op::kMinimum, {b}, a.type());
  Expr ratio = smaller / larger;
  Expr as_is = equal(larger, larger.like(0)) | equal(larger, larger.inf());
  return as_is.select(larger, larger * (1.0 + ratio * ratio).sqrt());
}

// Operand i of the source: a complex one, or a real one with nothing beside it.
Result<Complex> complex_operand(const OpContext& context, size_t i) {
  if (i >= context.op.operands.size())
    return context.bad(fmt::format("The operation has no operand ({}).", i));
  const Values& parts = context.scope.values.at(context.op.operands[i]);
  if (parts.empty() || parts.size() > 2)
    return context.bad(fmt::format("Operand ({}) is not a tensor.", i));
  Expr re(context, parts[0]);
  return Complex{re, parts.size() == 2 ? Expr(context, parts[1]) : re.like(0)};
}

OpResult complex_unary(OpContext& context) {
  TUFF_ASSIGN(Complex z, complex_operand(context, 0));
  std::string_view name = context.short_name();
  if (name == "real") return Values{z.re.value()};
  if (name == "imag") return Values{z.im.value()};
  if (name == "abs") return Values{absolute(z).value()};
  if (name == "conj") return Complex{z.re, -z.im}.values();
  if (name == "square") return (z * z).values();
  if (name == "log") return Complex{absolute(z).log(), atan2(z.im, z.re)}.values();
  if (name == "exponential") {
    Expr size = z.re.exp();
    return Complex{size * z.im.cos(), size * z.im.sin()}.values();
  }
  Expr size = absolute(z), none = equal(size, size.like(0));  // sign
  return Complex{none.select(z.re, z.re / size), none.select(z.im, z.im / size)}.values();
}

OpResult complex_binary(OpContext& context) {
  TUFF_ASSIGN(Complex a, complex_operand(context, 0));
  TUFF_ASSIGN(Complex b, complex_operand(context, 1));
  if (a.re.type() != b.re.type()) return context.bad("The operands differ in type.");
  if (context.short_name() == "multiply") return (a * b).values();
  if (context.short_name() == "divide") return (a / b).values();
  std::string direction = context.text_attribute("comparison_direction");
  if (direction == "EQ") return Values{(equal(a.re, b.re) & equal(a.im, b.im)).value()};
  if (direction == "NE") return Values{(not_equal(a.re, b.re) | not_equal(a.im, b.im)).value()};
  return context.unsupported(
      fmt::format("The comparison ({}) of complex numbers is not supported.", direction));
}

// complex(re, im) makes a pair of its operands.
OpResult pair_of_operands(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_operands(2));
  return context.operands;
}

// A real result takes the real part; a real operand has no imaginary one.
OpResult convert_complex(OpContext& context) {
  TUFF_ASSIGN(Complex z, complex_operand(context, 0));
  Values results;
  for (size_t i = 0; i < context.types.size(); ++i)
    results.push_back((i == 0 ? z.re : z.im).convert(context.types[i].dtype).value());
  return results;
}

OpResult complex_constant(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_results(2));
  const Attribute* value = context.attribute("value");
  auto* dense = value ? std::get_if<std::shared_ptr<const DenseElements>>(&value->value) : nullptr;
  if (!dense || !*dense || !(*dense)->readable || complex_part((*dense)->type).empty())
    return context.bad("The constant has no value of its type.");
  const Literal& pairs = (*dense)->values;
  Values results;
  for (int64_t part = 0; part < 2; ++part) {
    Shape shape = pairs.type().shape;
    shape.pop_back();
    DenseElements one{(*dense)->type, (*dense)->splat, true,
                      Literal({pairs.type().dtype, std::move(shape)})};
    for (int64_t i = 0; i < one.values.num_elements(); ++i)
      one.values.set_double(i, pairs.get_double(2 * i + part));
    results.push_back(import_constant(context, one, context.types[static_cast<size_t>(part)]));
  }
  return results;
}

bool is_complex(const Type& type) { return !complex_part(type).empty(); }

// The operation on real tensors: of every complex operand the part that is named for it. The
// result is the first one's part.
OpResult on_parts(OpContext& context, const std::vector<size_t>& parts) {
  const std::vector<Type>& declared = context.importer.module().value_types;
  Values operands;
  for (size_t i = 0; i < context.op.operands.size(); ++i) {
    uint32_t id = context.op.operands[i];
    const Values& values = context.scope.values.at(id);
    if (is_complex(declared[id]))
      operands.push_back(values[parts[i]]);
    else
      operands.insert(operands.end(), values.begin(), values.end());
  }
  std::vector<TensorType> types;
  for (size_t i = 0; i < context.types.size(); i += 2) types.push_back(context.types[i]);
  OpContext part{context.importer,    context.op,       context.scope,
                 std::move(operands), std::move(types), context.loc};
  return find_handler(context.op.name)(part);
}

OpResult on_both_parts(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_results(2));
  Values results;
  for (size_t part : {0, 1}) {
    TUFF_ASSIGN(Values one, on_parts(context, std::vector(context.op.operands.size(), part)));
    results.insert(results.end(), one.begin(), one.end());
  }
  return results;
}

// Sums of products: four of them.
OpResult complex_dot(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_results(2));
  auto product = [&](size_t a, size_t b) -> Result<Expr> {
    TUFF_ASSIGN(Values values, on_parts(context, {a, b}));
    return Expr(context, values[0]);
  };
  TUFF_ASSIGN(Expr rr, product(0, 0));
  TUFF_ASSIGN(Expr ii, product(1, 1));
  TUFF_ASSIGN(Expr ri, product(0, 1));
  TUFF_ASSIGN(Expr ir, product(1, 0));
  return Complex{rr - ii, ri + ir}.values();
}

// Whatever its operands are: in the pairs' order, each part is an operand of its own.
OpResult as_flattened(OpContext& context) { return find_handler(context.op.name)(context); }

OpResult refuse_operation(OpContext& context) {
  return context.unsupported(
      fmt::format("Complex operands of ({}) are not supported.", context.op.name));
}

struct ComplexRow {
  Handler handler;
  std::string_view names;  // with a space on both sides of each
};
constexpr ComplexRow kComplexRows[] = {
    {pair_of_operands, " stablehlo.complex "},
    {complex_constant, " stablehlo.constant "},
    {complex_unary,
     " stablehlo.real stablehlo.imag stablehlo.abs stablehlo.exponential stablehlo.log"
     " stablehlo.sign chlo.conj chlo.square "},
    {complex_binary, " stablehlo.multiply stablehlo.divide stablehlo.compare "},
    {convert_complex, " stablehlo.convert "},
    {complex_dot, " stablehlo.dot stablehlo.dot_general "},
    {on_both_parts,
     " stablehlo.add stablehlo.subtract stablehlo.negate stablehlo.select stablehlo.reshape"
     " stablehlo.transpose stablehlo.slice stablehlo.broadcast stablehlo.broadcast_in_dim"
     " stablehlo.concatenate stablehlo.reverse stablehlo.pad stablehlo.gather"
     " stablehlo.dynamic_slice stablehlo.dynamic_update_slice stablehlo.dynamic_reshape"
     " stablehlo.dynamic_broadcast_in_dim stablehlo.dynamic_pad stablehlo.dynamic_gather"
     " stablehlo.real_dynamic_slice "},
    {as_flattened,
     " stablehlo.fft stablehlo.while stablehlo.if stablehlo.case stablehlo.reduce"
     " stablehlo.reduce_window stablehlo.scatter stablehlo.sort stablehlo.optimization_barrier"
     " stablehlo.tuple stablehlo.get_tuple_element stablehlo.composite stablehlo.custom_call"
     " func.call call builtin.unrealized_conversion_cast "},
};

}  // namespace

bool has_complex(const Type& type) {
  return is_complex(type) || std::any_of(type.inputs.begin(), type.inputs.end(), has_complex);
}

Handler find_complex_handler(const Operation& op, const std::vector<Type>& value_types) {
  if (std::none_of(op.types.begin(), op.types.end(), has_complex) &&
      std::none_of(op.operands.begin(), op.operands.end(),
                   [&](uint32_t id) { return has_complex(value_types[id]); }))
    return nullptr;
  std::string name = fmt::format(" {} ", op.name);
  for (const ComplexRow& row : kComplexRows)
    if (row.names.find(name) != std::string_view::npos) return row.handler;
  return refuse_operation;
}

}  // namespace tuff::stablehlo
