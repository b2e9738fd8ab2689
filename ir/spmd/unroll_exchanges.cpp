#include "ir/spmd/unroll_exchanges.h"

#include "ir/ops/trip_count.h"
#include "ir/rewrite.h"
#include "ir/spmd/collective.h"

namespace tuff {

namespace {

// Written out, a loop has at most this many nodes.
constexpr int64_t kMaxNodes = 50'000;

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
  return rewrite_graph(graph, [](const RewriteSite& site) -> std::optional<std::vector<Value>> {
    if (site.node.op != Op::kWhile || !knows_devices(*site.node.regions[1])) return std::nullopt;
    std::optional<int64_t> rounds = known_trip_count(site.out, site.node);
    const Graph& body = *site.node.regions[1];
    auto size = static_cast<int64_t>(body.nodes().size());
    if (!rounds || *rounds > kMaxNodes / size) return std::nullopt;
    std::vector<Value> values = site.node.operands;
    for (int64_t i = 0; i < *rounds; ++i) values = inline_region(site.out, body, values);
    return values;
  });
}

}  // namespace tuff
