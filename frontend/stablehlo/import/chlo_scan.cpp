// chlo.scan as a while: a counter, the inputs, the stacked outputs, the carries.
#include <fmt/format.h>

#include "frontend/stablehlo/import/import.h"

namespace tuff::stablehlo {

namespace {

using Ints = std::vector<int64_t>;

struct Scan {
  OpContext& context;
  GraphPtr body;
  int64_t dimension = 0, length = 0;
  bool reverse = false;
  size_t num_inputs = 0, num_outputs = 0;
};

// A region's graph copied into another: its nodes with the parameters replaced.
Values inline_graph(const Graph& body, const Values& arguments, Graph* to) {
  std::vector<uint32_t> moved(body.nodes().size());
  auto map = [&](Value v) {
    return v.node < body.num_parameters() ? arguments[v.node] : Value{moved[v.node], v.result};
  };
  for (uint32_t id = body.num_parameters(); id < body.nodes().size(); ++id) {
    Node node = body.nodes()[id];
    for (Value& operand : node.operands) operand = map(operand);
    moved[id] = to->add(std::move(node)).node;
  }
  Values results;
  for (Value v : body.outputs()) results.push_back(map(v));
  return results;
}

// The start of the slice at `index` along the scanned dimension.
Values slice_starts(Graph& graph, Value index, Value zero, const TensorType& type,
                    int64_t dimension) {
  (void)graph;
  Values starts(static_cast<size_t>(type.rank()), zero);
  starts[static_cast<size_t>(dimension)] = index;
  return starts;
}

TensorType without(const TensorType& type, int64_t dimension) {
  TensorType smaller = type;
  smaller.shape.erase(smaller.shape.begin() + dimension);
  return smaller;
}

Value take_slice(Graph& graph, const Scan& scan, Value from, Value index, Value zero) {
  TensorType type = graph.type(from), slice = type;
  slice.shape[static_cast<size_t>(scan.dimension)] = 1;
  Values operands{from};
  for (Value v : slice_starts(graph, index, zero, type, scan.dimension)) operands.push_back(v);
  Value taken = add_op(graph, Op::kDynamicSlice, operands, slice, DynamicSliceAttrs{slice.shape});
  return add_op(graph, Op::kReshape, {taken}, without(type, scan.dimension));
}

Value put_slice(Graph& graph, const Scan& scan, Value into, Value part, Value index, Value zero) {
  TensorType type = graph.type(into), slice = type;
  slice.shape[static_cast<size_t>(scan.dimension)] = 1;
  Values operands{into, add_op(graph, Op::kReshape, {part}, slice)};
  for (Value v : slice_starts(graph, index, zero, type, scan.dimension)) operands.push_back(v);
  return add_op(graph, Op::kDynamicUpdateSlice, operands, type);
}

Value scalar(Graph& graph, int64_t value) {
  return add_constant(graph, Literal::from_ints(DType::kI64, {}, {value}));
}

GraphPtr make_condition(const Scan& scan, const std::vector<TensorType>& carried) {
  Graph graph;
  for (const TensorType& type : carried) graph.add_parameter(type);
  Value more = add_op(graph, Op::kCompare, {{0, 0}, scalar(graph, scan.length)}, {DType::kBool, {}},
                      CompareAttrs{ComparisonDirection::kLt, CompareType::kSigned});
  graph.set_outputs({more});
  return std::make_shared<Graph>(std::move(graph));
}

GraphPtr make_body(const Scan& scan, const std::vector<TensorType>& carried) {
  Graph graph;
  Values state;
  for (const TensorType& type : carried) state.push_back(graph.add_parameter(type));
  Value counter = state[0], zero = scalar(graph, 0), index = counter;
  if (scan.reverse)
    index = add_op(graph, Op::kSubtract, {scalar(graph, scan.length - 1), counter}, carried[0]);
  Values arguments;
  for (size_t i = 0; i < scan.num_inputs; ++i)
    arguments.push_back(take_slice(graph, scan, state[1 + i], index, zero));
  size_t first_output = 1 + scan.num_inputs, first_carry = first_output + scan.num_outputs;
  arguments.insert(arguments.end(), state.begin() + first_carry, state.end());
  Values results = inline_graph(*scan.body, arguments, &graph);
  Values next = state;
  next[0] = add_op(graph, Op::kAdd, {counter, scalar(graph, 1)}, carried[0]);
  for (size_t i = 0; i < scan.num_outputs; ++i)
    next[first_output + i] =
        put_slice(graph, scan, state[first_output + i], results[i], index, zero);
  for (size_t i = first_carry; i < next.size(); ++i)
    next[i] = results[scan.num_outputs + i - first_carry];
  graph.set_outputs(std::move(next));
  return std::make_shared<Graph>(std::move(graph));
}

Status check(Scan& scan) {
  OpContext& context = scan.context;
  size_t inits = context.operands.size() - scan.num_inputs;
  if (scan.num_inputs > context.operands.size() || scan.num_inputs == 0 ||
      context.types.size() < inits || context.op.regions.size() != 1)
    return context.bad("The scan's operands and results do not fit.");
  scan.num_outputs = context.types.size() - inits;
  for (size_t i = 0; i < scan.num_inputs + scan.num_outputs; ++i) {
    const TensorType& type = i < scan.num_inputs ? context.type(context.operands[i])
                                                 : context.types[i - scan.num_inputs];
    if (scan.dimension < 0 || scan.dimension >= type.rank())
      return context.bad(fmt::format("The scan dimension ({}) is out of range.", scan.dimension));
    int64_t length = type.shape[static_cast<size_t>(scan.dimension)];
    if (i == 0) scan.length = length;
    if (length != scan.length) return context.bad("The scanned dimensions differ in size.");
  }
  return {};
}

}  // namespace

OpResult import_scan(OpContext& context) {
  Scan scan{context, nullptr};
  scan.dimension = context.int_attribute("dimension");
  scan.reverse = context.int_attribute("is_reverse") != 0;
  auto sizes = context.ints_attribute("operandSegmentSizes");
  int64_t from_segments = sizes.ok() && !sizes->empty() ? (*sizes)[0] : 0;
  scan.num_inputs = static_cast<size_t>(context.int_attribute("num_inputs", from_segments));
  TUFF_RETURN_IF_ERROR(check(scan));
  TUFF_ASSIGN(scan.body, context.importer.import_region(context, context.op.regions[0], {}, false));
  Node loop;
  loop.op = Op::kWhile;
  Value zero = scalar(context.graph(), 0);
  loop.operands.push_back(zero);
  loop.operands.insert(loop.operands.end(), context.operands.begin(),
                       context.operands.begin() + scan.num_inputs);
  for (size_t i = 0; i < scan.num_outputs; ++i) {
    Value fill =
        add_constant(context.graph(), Literal(TensorType{context.types[i].dtype, {}}), context.loc);
    loop.operands.push_back(
        context.add(Op::kBroadcastInDim, {fill}, context.types[i], BroadcastInDimAttrs{}));
  }
  loop.operands.insert(loop.operands.end(), context.operands.begin() + scan.num_inputs,
                       context.operands.end());
  std::vector<TensorType> arguments, returned;
  for (Value v : loop.operands) loop.types.push_back(context.type(v));
  for (size_t i = 0; i < scan.num_inputs; ++i)
    arguments.push_back(without(context.type(context.operands[i]), scan.dimension));
  for (size_t i = 0; i < context.types.size(); ++i)
    returned.push_back(i < scan.num_outputs ? without(context.types[i], scan.dimension)
                                            : context.types[i]);
  for (size_t i = scan.num_inputs; i < context.operands.size(); ++i)
    arguments.push_back(context.type(context.operands[i]));
  bool fits = scan.body->num_parameters() == arguments.size() &&
              scan.body->outputs().size() == returned.size();
  for (size_t i = 0; fits && i < arguments.size(); ++i)
    fits = scan.body->type({static_cast<uint32_t>(i), 0}) == arguments[i];
  for (size_t i = 0; fits && i < returned.size(); ++i)
    fits = scan.body->type(scan.body->outputs()[i]) == returned[i];
  if (!fits)
    return context.bad("The scan's body does not have the types of its operands and results.");
  loop.regions = {make_condition(scan, loop.types), make_body(scan, loop.types)};
  TUFF_ASSIGN(Values results, context.add_checked(std::move(loop)));
  return Values(results.begin() + 1 + static_cast<std::ptrdiff_t>(scan.num_inputs), results.end());
}

}  // namespace tuff::stablehlo
