#include "shaders/families/reducer.h"

#include <limits>
#include <map>

#include "shaders/emit/emit_value.h"

namespace tuff {

namespace {

Literal lowest(DType dtype, bool highest) {
  Literal value = Literal::scalar(dtype, 0);
  double infinity = std::numeric_limits<double>::infinity();
  if (is_float(dtype)) {
    value.set_double(0, highest ? infinity : -infinity);
  } else if (dtype == DType::kBool) {
    value.set_int(0, highest);
  } else {
    int bits = static_cast<int>(8 * dtype_size(dtype));
    uint64_t ones = ~uint64_t{0} >> (64 - bits);
    uint64_t top = is_signed_int(dtype) ? ones >> 1 : ones;
    value.set_int(0, static_cast<int64_t>(highest ? top : is_signed_int(dtype) ? ~top : 0));
  }
  return value;
}

Literal all_ones(DType dtype) {
  Literal value = Literal::scalar(dtype, 0);
  value.set_int(0, -1);
  return value;
}

}  // namespace

std::optional<Op> single_op(const Graph& body) {
  if (body.num_parameters() != 2 || body.outputs().size() != 1) return std::nullopt;
  const Node& node = body.node(body.outputs()[0]);
  if (body.nodes().size() != 3 || node.operands.size() != 2 ||
      node.operands[0].node == node.operands[1].node)
    return std::nullopt;
  return node.op;
}

std::optional<Operand> reducer_identity(const Node& reduce) {
  if (reduce.types.size() != 1) return std::nullopt;
  std::optional<Op> op = single_op(*reduce.regions[0]);
  DType dtype = reduce.types[0].dtype;
  bool boolean = dtype == DType::kBool;
  if (!op) return std::nullopt;
  switch (*op) {
    // -0 + x is x; +0 + -0 is not -0.
    case Op::kAdd: return immediate_of(Literal::scalar(dtype, is_float(dtype) ? -0.0 : 0));
    case Op::kMultiply: return immediate_of(Literal::scalar(dtype, 1));
    case Op::kMaximum: return immediate_of(lowest(dtype, false));
    case Op::kMinimum: return immediate_of(lowest(dtype, true));
    case Op::kOr: return immediate_of(Literal::scalar(dtype, 0));
    case Op::kXor: return immediate_of(Literal::scalar(dtype, 0));
    case Op::kAnd:
      return boolean ? immediate_of(Literal::scalar(dtype, 1)) : immediate_of(all_ones(dtype));
    default: return std::nullopt;
  }
}

bool may_count_often(const Node& reduce, const Literal& initial) {
  std::optional<Operand> identity = reducer_identity(reduce);
  if (!identity) return false;
  bool zero = is_float(initial.type().dtype) && initial.get_double(0) == 0;
  return immediate_of(initial) == *identity || (single_op(*reduce.regions[0]) == Op::kAdd && zero);
}

DType accumulator_dtype(const Node& reduce, size_t result) {
  DType dtype = reduce.types[result].dtype;
  std::optional<Op> op = single_op(*reduce.regions[0]);
  bool rounds = op == Op::kAdd || op == Op::kMultiply;
  return rounds && is_float(dtype) && dtype_size(dtype) == 2 ? DType::kF32 : dtype;
}

std::vector<Operand> emit_region(KernelBuilder& builder, const Graph& region,
                                 const std::vector<Operand>& arguments, const EmitLoop& emit_loop) {
  std::map<Value, Operand> values;
  for (uint32_t id = 0; id < region.nodes().size(); ++id) {
    const Node& node = region.node(id);
    std::vector<Operand> operands;
    for (Value v : node.operands) operands.push_back(values.at(v));
    if (node.op == Op::kParameter) {
      values[{id, 0}] = arguments[id];
    } else if (node.op == Op::kConstant) {
      values[{id, 0}] = immediate_of(node.attrs.as<ConstantAttrs>().value);
    } else if (node.op == Op::kWhile) {
      std::vector<Operand> results = emit_loop(node, operands);
      for (uint32_t r = 0; r < results.size(); ++r) values[{id, r}] = results[r];
    } else {
      values[{id, 0}] = emit_scalar_op(builder, node, std::move(operands));
    }
  }
  std::vector<Operand> results;
  for (Value v : region.outputs()) results.push_back(values.at(v));
  return results;
}

std::vector<Operand> emit_reducer(KernelBuilder& builder, const Node& reduce,
                                  const std::vector<Operand>& lhs,
                                  const std::vector<Operand>& rhs) {
  const Graph& body = *reduce.regions[0];
  if (lhs[0].dtype != reduce.types[0].dtype)  // a wider accumulator: one operation
    return {builder.compute(*single_op(body), lhs[0].dtype, {lhs[0], rhs[0]})};
  std::vector<Operand> arguments = lhs;
  arguments.insert(arguments.end(), rhs.begin(), rhs.end());
  return emit_region(builder, body, arguments);
}

}  // namespace tuff
