#include "ir/passes/unroll.h"

#include "ir/ops/trip_count.h"
#include "ir/rewrite.h"

namespace tuff {

namespace {

constexpr int64_t kMaxRounds = 8;
constexpr int64_t kMaxOps = 256;

int64_t count_ops(const Graph& block) {
  int64_t ops = 0;
  for (const Node& node : block.nodes()) {
    ops += node.op != Op::kParameter && node.op != Op::kConstant;
    for (const GraphPtr& region : node.regions) ops += count_ops(*region);
  }
  return ops;
}

}  // namespace

Result<Graph> unroll(const Graph& graph, const PassContext&) {
  return rewrite_graph(graph, [](const RewriteSite& site) -> std::optional<std::vector<Value>> {
    if (site.node.op != Op::kWhile) return std::nullopt;
    std::optional<int64_t> rounds = known_trip_count(site.out, site.node);
    const Graph& body = *site.node.regions[1];
    if (!rounds || *rounds > kMaxRounds || *rounds * count_ops(body) > kMaxOps) return std::nullopt;
    std::vector<Value> values = site.node.operands;
    for (int64_t i = 0; i < *rounds; ++i) values = inline_region(site.out, body, values);
    return values;
  });
}

}  // namespace tuff
