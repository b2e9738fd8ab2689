#include "ir/passes/drop_barriers.h"

#include "ir/rewrite.h"

namespace tuff {

Result<Graph> drop_barriers(const Graph& graph, const PassContext&) {
  return rewrite_graph(graph, [](const RewriteSite& site) -> std::optional<std::vector<Value>> {
    if (site.node.op != Op::kOptimizationBarrier) return std::nullopt;
    return site.node.operands;
  });
}

}  // namespace tuff
