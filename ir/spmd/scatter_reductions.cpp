#include "ir/spmd/scatter_reductions.h"

#include <map>
#include <optional>

#include "ir/rewrite.h"
#include "ir/spmd/collective.h"

namespace tuff::spmd {

namespace {

// The dimension along which all that use it cut a reduction, by the reduction's node; without those
// that are used whole.
std::map<uint32_t, int64_t> cut_reductions(const Graph& part, const Added& added) {
  std::map<uint32_t, std::optional<int64_t>> found;
  auto used_whole = [&](Value v) {
    if (added.all_reduces.contains(v.node)) found[v.node] = std::nullopt;
  };
  std::vector<bool> live = live_nodes(part);
  for (uint32_t id = 0; id < part.nodes().size(); ++id) {
    if (!live[id]) continue;
    auto cut = added.cuts.find(id);
    for (Value v : part.node(id).operands) {
      auto reduction = added.all_reduces.find(v.node);
      if (reduction == added.all_reduces.end()) continue;
      if (cut == added.cuts.end() || cut->second.over != reduction->second) {
        used_whole(v);
        continue;
      }
      auto [it, is_new] = found.try_emplace(v.node, cut->second.dimension);
      if (!is_new && it->second != cut->second.dimension) it->second = std::nullopt;
    }
  }
  for (Value v : part.outputs()) used_whole(v);
  std::map<uint32_t, int64_t> result;
  for (auto [id, dimension] : found)
    if (dimension) result.emplace(id, *dimension);
  return result;
}

Value reduce_scatter(Graph& out, const Node& all_reduce, int64_t dimension,
                     const TensorType& type) {
  CustomCallAttrs attrs = all_reduce.attrs.as<CustomCallAttrs>();
  attrs.scatter_dimension = dimension;
  Node node = make_spmd_node(SpmdOp::kReduceScatter, std::move(attrs), all_reduce.loc);
  node.operands = all_reduce.operands;
  node.regions = all_reduce.regions;
  node.types = {type};
  return out.add(std::move(node));
}

}  // namespace

Graph scatter_reductions(const Graph& part, const Added& added) {
  std::map<uint32_t, int64_t> reductions = cut_reductions(part, added);
  std::map<uint32_t, Value> made;  // by reduction
  return rewrite_graph(
      part,
      [&](const RewriteSite& site) -> std::optional<std::vector<Value>> {
        if (!added.cuts.contains(site.old_id)) return std::nullopt;
        uint32_t source = site.old.node(site.old_id).operands[0].node;
        auto reduction = reductions.find(source);
        if (reduction == reductions.end()) return std::nullopt;
        auto [it, is_new] = made.try_emplace(source);
        if (is_new) {
          const Node all_reduce = site.operand(0);
          it->second = reduce_scatter(site.out, all_reduce, reduction->second, site.node.types[0]);
        }
        return {{it->second}};
      },
      RewriteRegions::kNone);
}

}  // namespace tuff::spmd
