// Complex numbers: the Graph has none, so a complex tensor is a pair of values, its real and
// its imaginary part. Operations that only move elements, or treat both parts alike, are done
// to each part; those that carry any values carry two; the others are formulas here.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "frontend/stablehlo/import/complex.h"

namespace tuff::stablehlo {

namespace {

OpResult part_of_number(OpContext& context) {
  TUFF_ASSIGN(Complex z, complex_operand(context, 0));
  return Values{(context.short_name() == "real" ? z.re : z.im).value()};
}

OpResult complex_abs(OpContext& context) {
  TUFF_ASSIGN(Complex z, complex_operand(context, 0));
  return Values{absolute(z).value()};
}

OpResult complex_function(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_results(2));
  TUFF_ASSIGN(Complex z, complex_operand(context, 0));
  return find_complex_formula(context.short_name())(z).values();
}

// The greater by the real part, then by the imaginary one; NaN where one is.
Complex extreme(const Complex& a, const Complex& b, bool greater) {
  Expr first = greater ? a.re > b.re : a.re < b.re;
  Expr second = greater ? a.im > b.im : a.im < b.im;
  Expr is_nan = not_equal(a.re, a.re) | not_equal(a.im, a.im);
  return Complex::select(first | (equal(a.re, b.re) & second) | is_nan, a, b);
}

OpResult complex_compare(const OpContext& context, const Complex& a, const Complex& b) {
  std::string direction = context.text_attribute("comparison_direction");
  if (direction == "EQ") return Values{(equal(a.re, b.re) & equal(a.im, b.im)).value()};
  if (direction == "NE") return Values{(not_equal(a.re, b.re) | not_equal(a.im, b.im)).value()};
  return context.unsupported(
      fmt::format("The comparison ({}) of complex numbers is not supported.", direction));
}

OpResult complex_binary(OpContext& context) {
  TUFF_ASSIGN(Complex a, complex_operand(context, 0));
  TUFF_ASSIGN(Complex b, complex_operand(context, 1));
  if (a.re.type() != b.re.type()) return context.bad("The operands differ in type.");
  std::string_view name = context.short_name();
  if (name == "compare") return complex_compare(context, a, b);
  if (name == "multiply") return (a * b).values();
  if (name == "divide") return (a / b).values();
  if (name == "power") return power(a, b).values();
  if (name == "atan2") return atan2(a, b).values();
  return extreme(a, b, name == "maximum").values();
}

// The numbers of a real iota.
OpResult complex_iota(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_results(2));
  TUFF_ASSIGN(Values numbers, on_parts(context, {0}));
  return Values{numbers[0], Expr(context, numbers[0]).like(0).value()};
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

// Of the bytes as they lie at the border.
OpResult complex_bitcast(OpContext& context) {
  TUFF_ASSIGN(Complex z, complex_operand(context, 0));
  Graph& graph = context.graph();
  Node node;
  node.op = Op::kBitcastConvert;
  node.operands = {context.operands.size() == 2 ? join_parts(graph, z.re.value(), z.im.value())
                                                : z.re.value()};
  node.types = {context.types[0]};
  bool to_complex = context.types.size() == 2;
  if (to_complex) node.types[0].shape.push_back(2);
  TUFF_ASSIGN(Values whole, context.add_checked(std::move(node)));
  if (!to_complex) return whole;
  return Values{part_of(graph, whole[0], 0), part_of(graph, whole[0], 1)};
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

OpResult on_both_parts(OpContext& context) {
  TUFF_RETURN_IF_ERROR(context.expect_results(2));
  Values results;
  for (size_t part : {0, 1}) {
    TUFF_ASSIGN(Values one, on_parts(context, std::vector(context.op.operands.size(), part)));
    results.insert(results.end(), one.begin(), one.end());
  }
  return results;
}

// Whatever its operands are: in the pairs' order, each part is an operand of its own.
OpResult as_flattened(OpContext& context) { return find_handler(context.op.name)(context); }

// What accumulates numbers by a body. Where the parts do not mix each gets a node of its own, as
// for real numbers; products need one node with both.
OpResult complex_accumulation(OpContext& context) {
  TUFF_ASSIGN(Values whole, as_flattened(context));
  if (whole.size() != 2) return whole;
  Values results;
  for (uint32_t part : {0u, 1u}) {
    Node node = context.graph().node(whole[part]);
    auto body = node.regions.size() == 1 ? body_of_part(*node.regions[0], part) : std::nullopt;
    if (!body) return whole;
    node.regions = {*body};
    if (node.types.size() == 2) {
      node.types = {node.types[part]};
      node.operands.clear();
      for (uint32_t id : context.op.operands) {
        std::span<const Value> values = context.scope.values.at(id);
        if (is_complex(context.importer.module().value_types[id]))
          node.operands.push_back(values[part]);
        else
          node.operands.insert(node.operands.end(), values.begin(), values.end());
      }
    }
    results.push_back(context.graph().add(std::move(node)));
  }
  return results;
}

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
    {part_of_number, " stablehlo.real stablehlo.imag "},
    {complex_abs, " stablehlo.abs "},
    {complex_binary,
     " stablehlo.multiply stablehlo.divide stablehlo.power stablehlo.atan2 stablehlo.maximum"
     " stablehlo.minimum stablehlo.compare "},
    {convert_complex, " stablehlo.convert "},
    {complex_bitcast, " stablehlo.bitcast_convert "},
    {complex_iota, " stablehlo.iota stablehlo.dynamic_iota "},
    {complex_product,
     " stablehlo.dot stablehlo.dot_general stablehlo.convolution stablehlo.dynamic_conv "},
    {complex_triangular_solve, " stablehlo.triangular_solve "},
    {complex_cholesky, " stablehlo.cholesky "},
    {on_both_parts,
     " stablehlo.add stablehlo.subtract stablehlo.select stablehlo.reshape"
     " stablehlo.transpose stablehlo.slice stablehlo.broadcast stablehlo.broadcast_in_dim"
     " stablehlo.concatenate stablehlo.reverse stablehlo.pad stablehlo.gather"
     " stablehlo.dynamic_slice stablehlo.dynamic_update_slice stablehlo.dynamic_reshape"
     " stablehlo.dynamic_broadcast_in_dim stablehlo.dynamic_pad stablehlo.dynamic_gather"
     " stablehlo.real_dynamic_slice stablehlo.collective_permute "},
    {complex_accumulation, " stablehlo.reduce stablehlo.reduce_window stablehlo.scatter "},
    {as_flattened,
     " stablehlo.fft stablehlo.while stablehlo.if stablehlo.case stablehlo.map stablehlo.sort"
     " stablehlo.optimization_barrier stablehlo.tuple stablehlo.get_tuple_element"
     " stablehlo.composite stablehlo.custom_call stablehlo.all_gather stablehlo.all_reduce"
     " stablehlo.reduce_scatter stablehlo.all_to_all"
     " stablehlo.collective_broadcast stablehlo.cross-replica-sum"
     " sdy.sharding_constraint sdy.reshard sdy.manual_computation sdy.propagation_barrier"
     " sdy.sharding_group func.call call builtin.unrealized_conversion_cast "},
};

}  // namespace

OpResult on_parts(OpContext& context, const std::vector<size_t>& parts) {
  const std::vector<Type>& declared = context.importer.module().value_types;
  Values operands;
  for (size_t i = 0; i < context.op.operands.size(); ++i) {
    uint32_t id = context.op.operands[i];
    std::span<const Value> values = context.scope.values.at(id);
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

std::optional<GraphPtr> body_of_part(const Graph& body, uint32_t part) {
  if (body.num_parameters() != 4 || body.outputs().size() != 2) return std::nullopt;
  auto alone = std::make_shared<Graph>();
  std::vector<std::optional<Value>> copies(body.nodes().size());
  for (uint32_t id : {part, part + 2}) copies[id] = alone->add_parameter(body.node(id).types[0]);
  for (uint32_t id = body.num_parameters(); id < body.nodes().size(); ++id) {
    Node node = body.node(id);
    bool known = true;
    for (Value& operand : node.operands) {
      known = known && copies[operand.node].has_value();
      if (known) operand = {copies[operand.node]->node, operand.result};
    }
    if (known) copies[id] = alone->add(std::move(node));
  }
  Value output = body.outputs()[part];
  if (!copies[output.node]) return std::nullopt;
  alone->set_outputs({{copies[output.node]->node, output.result}});
  return alone;
}

std::vector<bool> complex_members(const Type& type) {
  if (type.kind == TypeKind::kToken) return {};
  if (type.kind != TypeKind::kTuple) return {is_complex(type)};
  std::vector<bool> members;
  for (const Type& inner : type.inputs) {
    std::vector<bool> its = complex_members(inner);
    members.insert(members.end(), its.begin(), its.end());
  }
  return members;
}

Value part_of(Graph& graph, Value whole, int64_t part) {
  TensorType type = graph.type(whole);
  Shape start(type.shape.size(), 0), limit = type.shape, steps(type.shape.size(), 1);
  start.back() = part, limit.back() = part + 1, type.shape.back() = 1;
  Value cut = add_op(graph, Op::kSlice, {whole}, type,
                     SliceAttrs{std::move(start), std::move(limit), std::move(steps)});
  type.shape.pop_back();
  return add_op(graph, Op::kReshape, {cut}, type);
}

Value join_parts(Graph& graph, Value re, Value im) {
  TensorType type = graph.type(re);
  type.shape.push_back(1);
  Values parts;
  for (Value part : {re, im}) parts.push_back(add_op(graph, Op::kReshape, {part}, type));
  int64_t last = type.rank() - 1;
  type.shape.back() = 2;
  return add_op(graph, Op::kConcatenate, std::move(parts), type, ConcatenateAttrs{last});
}

namespace {

bool has_complex(const Type& type) {
  return is_complex(type) || std::any_of(type.inputs.begin(), type.inputs.end(), has_complex);
}

}  // namespace

Handler find_complex_handler(const Operation& op, const std::vector<Type>& value_types) {
  if (std::none_of(op.types.begin(), op.types.end(), has_complex) &&
      std::none_of(op.operands.begin(), op.operands.end(),
                   [&](uint32_t id) { return has_complex(value_types[id]); }))
    return nullptr;
  std::string name = fmt::format(" {} ", op.name);
  for (const ComplexRow& row : kComplexRows)
    if (row.names.find(name) != std::string_view::npos) return row.handler;
  return find_complex_formula(op.name.substr(op.name.find('.') + 1)) ? complex_function
                                                                     : refuse_operation;
}

}  // namespace tuff::stablehlo
