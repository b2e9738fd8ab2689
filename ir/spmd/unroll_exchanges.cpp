#include "ir/spmd/unroll_exchanges.h"

#include "ir/ops/trip_count.h"
#include "ir/rewrite.h"
#include "ir/spmd/collective.h"

namespace tuff {

namespace {

// Written out, a loop has at most this many nodes.
constexpr int64_t kMaxNodes = 50'000;

// The results of all rounds, one after the other; nothing where they are not known, or too many.
std::optional<std::vector<Value>> written_out(const RewriteSite& site, int64_t max_nodes) {
  std::optional<int64_t> rounds = known_trip_count(site.out, site.node);
  const Graph& body = *site.node.regions[1];
  auto size = static_cast<int64_t>(body.nodes().size());
  if (!rounds || *rounds > max_nodes / size) return std::nullopt;
  std::vector<Value> values = site.node.operands;
  for (int64_t i = 0; i < *rounds; ++i) values = inline_region(site.out, body, values);
  return values;
}

}  // namespace

bool knows_devices(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (spmd_op(node)) return true;
    for (const GraphPtr& region : node.regions)
      if (knows_devices(*region)) return true;
  }
  return false;
}

Graph unroll_exchanges(const Graph& graph) {
  return rewrite_graph(graph, [](const RewriteSite& site) {
    bool meets = site.node.op == Op::kWhile && knows_devices(*site.node.regions[1]);
    return meets ? written_out(site, kMaxNodes) : std::nullopt;
  });
}

std::optional<Graph> unroll_loops(const Graph& graph, const std::set<uint32_t>& loops) {
  int64_t left = kMaxNodes;
  bool unrolled = false;
  Graph result = rewrite_graph(
      graph,
      [&](const RewriteSite& site) -> std::optional<std::vector<Value>> {
        if (!loops.contains(site.old_id)) return std::nullopt;
        size_t before = site.out.nodes().size();
        std::optional<std::vector<Value>> values = written_out(site, left);
        left -= static_cast<int64_t>(site.out.nodes().size() - before);
        unrolled = unrolled || values;
        return values;
      },
      RewriteRegions::kNone);
  if (!unrolled) return std::nullopt;
  return result;
}

}  // namespace tuff
