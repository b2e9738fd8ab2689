#include "ir/verify.h"

#include <fmt/format.h>

#include "ir/infer/infer.h"
#include "ir/text/print.h"

namespace tuff {

namespace {

// Text may nest regions; whatever built the graph, verification must not overflow the stack.
constexpr int kDeepestRegion = 64;

Error invalid(std::string message, std::string where) {
  return {ErrorCode::kBadInput, std::move(message), std::move(where)};
}

std::string place(const Graph& graph, uint32_t id) {
  const Node& node = graph.node(id);
  std::string where = fmt::format("{} (%{} of {})", op_name(node.op), id, graph.name);
  return node.loc.empty() ? where : where + " at " + node.loc;
}

std::string types_text(const Types& types) {
  std::string out;
  for (const TensorType& type : types) out.append(out.empty() ? "" : ", ").append(print_type(type));
  return out.empty() ? "nothing" : out;
}

bool exists(const Graph& graph, Value v) {
  return v.node < graph.nodes().size() && v.result < graph.node(v).types.size();
}

Status verify_graph(const Graph& graph, int depth);

// Operands come from earlier nodes.
Status verify_operands(const Graph& graph, uint32_t id) {
  for (Value v : graph.node(id).operands)
    if (v.node >= id || !exists(graph, v))
      return invalid(
          fmt::format("Operand %{}#{} is no value of an earlier node.", v.node, v.result),
          place(graph, id));
  return {};
}

// Parameters are the first nodes, and only they.
Status verify_leaf_order(const Graph& graph, uint32_t id) {
  bool is_parameter = graph.node(id).op == Op::kParameter;
  if (is_parameter != (id < graph.num_parameters()))
    return invalid("Parameters must be the first nodes of a graph.", place(graph, id));
  if (is_parameter && graph.node(id).types.size() != 1)
    return invalid("A parameter has one type.", place(graph, id));
  return {};
}

Status verify_types(const Graph& graph, uint32_t id) {
  const Node& node = graph.node(id);
  for (const TensorType& type : node.types)
    if (Result<int64_t> n = checked_num_elements(type.shape); !n.ok())
      return invalid(n.error().message, place(graph, id));
  Result<Types> expected = infer_types(graph, node);
  if (!expected.ok())
    return Error{expected.error().code, expected.error().message, place(graph, id)};
  if (*expected != node.types)
    return invalid(fmt::format("The result types must be ({}), found ({}).", types_text(*expected),
                               types_text(node.types)),
                   place(graph, id));
  return {};
}

Status verify_regions(const Graph& graph, uint32_t id, int depth) {
  for (const GraphPtr& region : graph.node(id).regions) {
    if (!region) return invalid("A region is missing.", place(graph, id));
    if (Status status = verify_graph(*region, depth + 1); !status.ok()) {
      Error error = status.take_error();
      return invalid(error.message, place(graph, id) + ", " + error.where);
    }
  }
  return {};
}

Status verify_outputs(const Graph& graph) {
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    if (!exists(graph, graph.outputs()[i]))
      return invalid(fmt::format("Output ({}) is no value of the graph.", i), graph.name);
  return {};
}

// A donated argument is overwritten by one output of its type.
Status verify_donations(const Graph& graph) {
  for (size_t i = 0; i < graph.donations.size(); ++i) {
    auto [parameter, output] = graph.donations[i];
    if (parameter >= graph.num_parameters() || output >= graph.outputs().size())
      return invalid(
          fmt::format("Donation ({} -> {}) names no parameter or output.", parameter, output),
          graph.name);
    const TensorType &from = graph.node(parameter).types[0],
                     &to = graph.type(graph.outputs()[output]);
    if (from != to)
      return invalid(fmt::format("Donated parameter ({}) is ({}), output ({}) is ({}).", parameter,
                                 print_type(from), output, print_type(to)),
                     graph.name);
    for (size_t k = 0; k < i; ++k)
      if (graph.donations[k].first == parameter || graph.donations[k].second == output)
        return invalid(
            fmt::format("Donation ({} -> {}) uses a parameter or output twice.", parameter, output),
            graph.name);
  }
  return {};
}

Status verify_graph(const Graph& graph, int depth) {
  if (depth > kDeepestRegion)
    return invalid(fmt::format("Regions nest deeper than ({}).", kDeepestRegion), graph.name);
  for (uint32_t id = 0; id < graph.nodes().size(); ++id) {
    TUFF_RETURN_IF_ERROR(verify_leaf_order(graph, id));
    TUFF_RETURN_IF_ERROR(verify_operands(graph, id));
    TUFF_RETURN_IF_ERROR(verify_types(graph, id));
    TUFF_RETURN_IF_ERROR(verify_regions(graph, id, depth));
  }
  TUFF_RETURN_IF_ERROR(verify_outputs(graph));
  return verify_donations(graph);
}

}  // namespace

Status verify(const Graph& graph) { return verify_graph(graph, 0); }

}  // namespace tuff
