#include "shaders/families/reducer.h"

#include <map>

#include "shaders/emit/emit_value.h"

namespace tuff {

std::optional<Operand> reducer_identity(const Node& reduce) {
  if (reduce.types.size() != 1) return std::nullopt;
  std::optional<Op> op = single_op(*reduce.regions[0]);
  std::optional<Literal> neutral;
  if (op) neutral = neutral_value(*op, reduce.types[0].dtype);
  return neutral ? std::optional(immediate_of(*neutral)) : std::nullopt;
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

std::vector<Operand> emit_reducer_of_all(KernelBuilder& builder, const Node& reduce,
                                         std::vector<std::vector<Operand>> terms) {
  for (; terms.size() > 1; terms.resize((terms.size() + 1) / 2))
    for (size_t i = 0; 2 * i < terms.size(); ++i)
      terms[i] = 2 * i + 1 < terms.size()
                     ? emit_reducer(builder, reduce, terms[2 * i], terms[2 * i + 1])
                     : terms[2 * i];
  return terms[0];
}

}  // namespace tuff
