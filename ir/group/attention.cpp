#include "ir/group/attention.h"

#include <algorithm>
#include <vector>

#include "ir/ops/contraction.h"

namespace tuff {

namespace {

DotDims dims_of(const Graph& graph, uint32_t dot) {
  const Node& node = graph.node(dot);
  return dot_dims(node, graph.type(node.operands[0]).rank(), graph.type(node.operands[1]).rank());
}

bool depends_on_any(const IndexContext& context, const IndexVector& index,
                    const IndexVector& symbols) {
  for (const IndexExpr& e : index)
    for (const IndexExpr& s : symbols)
      if (!s.is_constant() && context.depends_on(e, s.terms[0].first)) return true;
  return false;
}

void name_roles(IndexContext& context, const Graph& graph, AttentionSpace& a) {
  DotDims dims = dims_of(graph, a.nodes.values);
  bool left = a.nodes.weights_operand == 0;
  size_t d = 0;
  for (size_t i = 0; i < dims.lhs_batch.size(); ++i) a.batch.push_back(d++);
  for (size_t i = 0; i < dims.lhs_free.size(); ++i) (left ? a.rows : a.out).push_back(d++);
  for (size_t i = 0; i < dims.rhs_free.size(); ++i) (left ? a.out : a.rows).push_back(d++);
  const Shape& weights =
      graph.type(graph.node(a.nodes.values).operands[a.nodes.weights_operand]).shape;
  for (int64_t c : left ? dims.lhs_contract : dims.rhs_contract) {
    a.column_sizes.push_back(weights[static_cast<size_t>(c)]);
    a.columns.push_back(
        context.symbol("column", 0, std::max<int64_t>(a.column_sizes.back() - 1, 0)));
  }
}

// Follows the weights from the dot that reads them to where they are computed.
bool place_scores(IndexContext& context, const Graph& graph, const IndexVector& vars,
                  AttentionSpace& a) {
  Value v = graph.node(a.nodes.values).operands[a.nodes.weights_operand];
  a.scores =
      dot_operand_index(dims_of(graph, a.nodes.values), a.nodes.weights_operand, vars, a.columns);
  for (; v != a.nodes.weights; v = graph.node(v).operands[0]) {
    const Node& node = graph.node(v);
    if (!is_view(node.op)) continue;  // a convert
    auto sources = view_sources(context, node, {graph.type(node.operands[0]).shape}, a.scores);
    if (sources.size() != 1 || !sources[0].conditions.empty()) return false;
    a.scores = sources[0].index;
  }
  return true;
}

// The softmax runs over exactly what the second dot contracts.
bool columns_agree(const IndexContext& context, const Graph& graph, const IndexVector& others,
                   AttentionSpace& a) {
  IndexVector reduced;
  const auto& dimensions = graph.node(a.nodes.max).attrs.as<DimensionsAttrs>().dimensions;
  int64_t count = 1;
  for (size_t d = 0; d < a.scores.size(); ++d) {
    bool is_reduced = std::find(dimensions.begin(), dimensions.end(), static_cast<int64_t>(d)) !=
                      dimensions.end();
    (is_reduced ? reduced : a.row).push_back(a.scores[d]);
    if (is_reduced) count *= graph.type(a.nodes.logits).shape[d];
  }
  bool all_used = std::all_of(a.columns.begin(), a.columns.end(), [&](const IndexExpr& c) {
    return c.is_constant() || depends_on_any(context, reduced, {c});
  });
  return all_used && count == num_elements(a.column_sizes) &&
         !depends_on_any(context, reduced, others) && !depends_on_any(context, a.row, a.columns);
}

// One operand of the first dot has the columns alone, the other one the rows.
bool choose_rows_operand(const IndexContext& context, const Graph& graph, const IndexVector& rows,
                         AttentionSpace& a) {
  DotDims dims = dims_of(graph, a.nodes.scores);
  IndexVector nowhere(dims.lhs_contract.size());
  for (size_t operand : {0, 1}) {
    a.rows_operand = operand;
    IndexVector queries = dot_operand_index(dims, operand, a.scores, nowhere);
    IndexVector keys = dot_operand_index(dims, 1 - operand, a.scores, nowhere);
    if (!depends_on_any(context, queries, a.columns) && !depends_on_any(context, keys, rows))
      return true;
  }
  return false;
}

}  // namespace

std::optional<AttentionSpace> find_attention_space(IndexContext& context, const Graph& graph,
                                                   const Attention& nodes, const IndexVector& vars,
                                                   std::string& why_not) {
  auto none = [&](const char* why) {
    why_not = why;
    return std::nullopt;
  };
  AttentionSpace a;
  a.nodes = nodes;
  name_roles(context, graph, a);
  if (!place_scores(context, graph, vars, a))
    return none("weights behind a view that is no renaming");
  IndexVector rows, others;
  for (size_t d : a.rows) rows.push_back(vars[d]);
  others = rows;
  for (size_t d : a.batch) others.push_back(vars[d]);
  if (!columns_agree(context, graph, others, a))
    return none("a softmax over other columns than the dot contracts");
  if (!choose_rows_operand(context, graph, rows, a))
    return none("scores whose operands mix rows and columns");
  return a;
}

}  // namespace tuff
