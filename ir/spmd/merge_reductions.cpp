#include "ir/spmd/merge_reductions.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/rewrite.h"
#include "ir/spmd/collective.h"
#include "ir/spmd/rules.h"

namespace tuff::spmd {

namespace {

std::map<Value, int> count_uses(const Graph& graph) {
  std::map<Value, int> uses;
  std::vector<bool> live = live_nodes(graph);
  for (uint32_t id = 0; id < graph.nodes().size(); ++id)
    if (live[id])
      for (Value v : graph.node(id).operands) ++uses[v];
  for (Value v : graph.outputs()) ++uses[v];
  return uses;
}

bool adds_up(const Node& node) {
  std::optional<SpmdOp> op = spmd_op(node);
  return (op == SpmdOp::kAllReduce || op == SpmdOp::kReduceScatter) &&
         reduction_op(*node.regions[0]) == Op::kAdd;
}

// The reduction of another value, in its place.
Value reduced(Graph& out, Node reduction, Value operand, const TensorType& type) {
  reduction.operands = {operand};
  reduction.types = {type};
  return out.add(std::move(reduction));
}

// The view in front of its reduction; nothing for a reshape of scattered parts.
std::optional<Value> view_first(const RewriteSite& site) {
  Node reduction = site.operand(0);
  const Value source = reduction.operands[0];
  TensorType type = site.node.types[0];
  if (spmd_op(reduction) == SpmdOp::kReduceScatter) {
    if (site.node.op != Op::kTranspose) return std::nullopt;
    const std::vector<int64_t>& order = site.node.attrs.as<TransposeAttrs>().permutation;
    auto& attrs = reduction.attrs.edit<CustomCallAttrs>();
    auto at = std::find(order.begin(), order.end(), attrs.scatter_dimension) - order.begin();
    attrs.scatter_dimension = at;
    type.shape[static_cast<size_t>(at)] *= attrs.group_size;
  }
  Value view = site.add(site.node.op, {source}, type, site.node.attrs);
  return reduced(site.out, std::move(reduction), view, site.node.types[0]);
}

std::optional<Value> sum_first(const RewriteSite& site) {
  const Node first = site.operand(0), second = site.operand(1);
  const TensorType type = site.out.type(first.operands[0]);
  if (first.attrs != second.attrs || type != site.out.type(second.operands[0])) return std::nullopt;
  Value sum = site.add(Op::kAdd, {first.operands[0], second.operands[0]}, type);
  return reduced(site.out, first, sum, site.node.types[0]);
}

}  // namespace

Graph merge_reductions(const Graph& part) {
  std::map<Value, int> uses = count_uses(part);
  auto rule = [&](const RewriteSite& site) -> std::optional<std::vector<Value>> {
    bool is_view = site.node.op == Op::kTranspose || site.node.op == Op::kReshape;
    if (!is_view && site.node.op != Op::kAdd) return std::nullopt;
    for (size_t i = 0; i < site.node.operands.size(); ++i)
      if (!adds_up(site.operand(i)) || uses.at(site.old.node(site.old_id).operands[i]) > 1)
        return std::nullopt;
    std::optional<Value> merged = is_view ? view_first(site) : sum_first(site);
    if (!merged) return std::nullopt;
    return {{*merged}};
  };
  return rewrite_graph(part, rule, RewriteRegions::kNone);
}

}  // namespace tuff::spmd
