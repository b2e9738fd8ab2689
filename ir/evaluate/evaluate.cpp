#include "ir/evaluate/evaluate.h"

#include <algorithm>
#include <cstdint>
#include <new>

#include "ir/evaluate/ops.h"

namespace tuff {

namespace eval {

Error unsupported(const Node& node, const std::string& what) {
  return {ErrorCode::kUnsupported,
          std::string("The reference evaluator refuses ") + op_name(node.op) + ": it " + what + ".",
          node.loc};
}

namespace {

// Typed access needs aligned memory; views of mapped files may lack it.
Literal aligned(const Literal& literal) {
  auto address = reinterpret_cast<uintptr_t>(literal.bytes());
  if (address % static_cast<uintptr_t>(dtype_size(literal.type().dtype)) == 0) return literal;
  return Literal(literal.type(),
                 std::vector<std::byte>(literal.bytes(), literal.bytes() + literal.size_bytes()));
}

Result<Literals> evaluate_leaf_or_library(const Node& node, const Literals& operands) {
  switch (node.op) {
    case Op::kConstant: return Literals{aligned(node.attrs.as<ConstantAttrs>().value)};
    case Op::kDotGeneral: return evaluate_dot_general(node, operands);
    case Op::kConvolution: return evaluate_convolution(node, operands);
    case Op::kSort: return evaluate_sort(node, operands);
    case Op::kTopK: return evaluate_top_k(node, operands);
    case Op::kReduceWindow: return evaluate_reduce_window(node, operands);
    case Op::kSelectAndScatter: return evaluate_select_and_scatter(node, operands);
    case Op::kFft: return evaluate_fft(node, operands);
    case Op::kCholesky: return evaluate_cholesky(node, operands);
    case Op::kTriangularSolve: return evaluate_triangular_solve(node, operands);
    case Op::kHostCall:
      return unsupported(node, "is the host's function (" +
                                   std::string(word_of(node.attrs.as<HostCallAttrs>().function)) +
                                   "), which is done in one way only; run the program without "
                                   "comparing it");
    default: return unsupported(node, "has no reference evaluation");
  }
}

Result<Literals> evaluate_by_category(const Node& node, const Literals& operands) {
  switch (op_category(node.op)) {
    case OpCategory::kElementwise: return evaluate_elementwise(node, operands);
    case OpCategory::kView: return evaluate_movement(node, operands);
    case OpCategory::kIndexing: return evaluate_indexing(node, operands);
    case OpCategory::kScatter: return evaluate_scatter(node, operands);
    case OpCategory::kReduction: return evaluate_reduce(node, operands);
    case OpCategory::kRandom: return evaluate_rng_bit_generator(node, operands);
    case OpCategory::kComposite: return evaluate_batch_norm(node, operands);
    case OpCategory::kControl:
    case OpCategory::kFused: return evaluate_control(node, operands);
    default:
      if (node.op == Op::kIota) return evaluate_movement(node, operands);
      return evaluate_leaf_or_library(node, operands);
  }
}

// How many operands and outputs read each node.
std::vector<uint32_t> count_uses(const Graph& graph) {
  std::vector<uint32_t> uses(graph.nodes().size(), 0);
  for (const Node& node : graph.nodes())
    for (Value v : node.operands) ++uses[v.node];
  for (Value v : graph.outputs()) ++uses[v.node];
  return uses;
}

Status check_arguments(const Graph& graph, const Literals& arguments) {
  if (arguments.size() != graph.num_parameters())
    return Error{ErrorCode::kBadInput,
                 "The function takes (" + std::to_string(graph.num_parameters()) +
                     ") arguments and gets (" + std::to_string(arguments.size()) + ").",
                 graph.name};
  for (uint32_t i = 0; i < graph.num_parameters(); ++i)
    if (graph.node(i).types[0] != arguments[i].type())
      return Error{ErrorCode::kBadInput,
                   "Argument (" + graph.parameter_name(i) + ") has type (" +
                       arguments[i].type().to_string() + ") where the function takes (" +
                       graph.node(i).types[0].to_string() + ").",
                   graph.name};
  return {};
}

Result<Literals> walk(const Graph& graph, const Literals& arguments, const ValueVisitor* visit) {
  TUFF_RETURN_IF_ERROR(check_arguments(graph, arguments));
  std::vector<uint32_t> uses = count_uses(graph);
  std::vector<Literals> values(graph.nodes().size());
  for (uint32_t id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::kParameter) {
      values[id] = {aligned(arguments[id])};
    } else {
      if (uses[id] == 0 && !visit && is_pure(node.op)) continue;
      Literals operands;
      for (Value v : node.operands) operands.push_back(values[v.node][v.result]);
      TUFF_ASSIGN(values[id], evaluate_node(node, operands));
    }
    for (uint32_t r = 0; visit && r < values[id].size(); ++r)
      TUFF_RETURN_IF_ERROR((*visit)({id, r}, values[id][r]));
    for (Value v : node.operands)
      if (--uses[v.node] == 0) values[v.node].clear();
  }
  Literals outputs;
  for (Value v : graph.outputs()) outputs.push_back(values[v.node][v.result]);
  return outputs;
}

}  // namespace

}  // namespace eval

Result<std::vector<Literal>> evaluate(const Graph& graph, const std::vector<Literal>& arguments) {
  return eval::walk(graph, arguments, nullptr);
}

Result<std::vector<Literal>> evaluate_all(const Graph& graph, const std::vector<Literal>& arguments,
                                          const ValueVisitor& visit) {
  return eval::walk(graph, arguments, &visit);
}

Result<std::vector<Literal>> evaluate_node(const Node& node, const std::vector<Literal>& operands) {
  bool small = std::any_of(node.types.begin(), node.types.end(),
                           [](const TensorType& type) { return is_small(type.dtype); });
  eval::Literals typed;
  typed.reserve(operands.size());
  for (const Literal& operand : operands) {
    small = small || is_small(operand.type().dtype);
    typed.push_back(eval::aligned(operand));
  }
  // Readers, which still have such types, ask for values that they might know.
  if (small) return eval::unsupported(node, "has elements of 8 bits or fewer");
  try {
    return eval::evaluate_by_category(node, typed);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory,
                 std::string("The reference evaluator runs out of memory in ") + op_name(node.op) +
                     " (" + (node.types.empty() ? "" : node.types[0].to_string()) + ").",
                 node.loc};
  }
}

}  // namespace tuff
