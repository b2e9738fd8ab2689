#include "ir/passes/group/group.h"

#include "ir/ops/trip_count.h"
#include "ir/passes/group/grouping.h"
#include "ir/rewrite.h"

namespace tuff {

namespace {

using GroupFn = Result<Graph> (*)(const Graph&, const PassContext&);

// The graph with every block of its control flow grouped, and loops told how often
// they run while their counters can still be seen.
Result<Graph> group_blocks(const Graph& graph, const PassContext& context, GroupFn group_block) {
  Status status;
  Graph grouped = rewrite_graph(
      graph,
      [&](const RewriteSite& site) -> std::optional<std::vector<Value>> {
        if (!is_control_flow(site.node.op)) return std::nullopt;
        Node node = site.node;
        if (node.op == Op::kWhile && !node.attrs.as<WhileAttrs>().trip_count)
          if (auto count = known_trip_count(site.out, node)) node.attrs = WhileAttrs{count};
        bool one_kernel = is_kernel_loop(site.out, node, *context.caps);
        for (GraphPtr& region : node.regions) {
          if (one_kernel) break;
          Result<Graph> block = group_block(*region, context);
          if (!block.ok()) {
            status = block.take_error();
            return std::nullopt;
          }
          region = std::make_shared<const Graph>(std::move(*block));
        }
        std::vector<Value> results(node.types.size());
        uint32_t made = site.out.add(std::move(node)).node;
        for (uint32_t r = 0; r < results.size(); ++r) results[r] = {made, r};
        return results;
      },
      RewriteRegions::kNone);
  TUFF_RETURN_IF_ERROR(status);
  return grouped;
}

}  // namespace

Result<Graph> group(const Graph& graph, const PassContext& context) {
  TUFF_ASSIGN(Graph with_blocks, group_blocks(graph, context, group));
  Partition partition = make_partition(with_blocks, *context.caps, LoadWork::kCopied);
  join_groups(partition, *context.caps);
  if (context.caps->library_calls) separate_copies(partition);
  sink_views(partition, *context.caps);
  // A library's caller has no kernels to make, and launches by a jump.
  if (!context.caps->library_calls) join_beside(partition, *context.caps);
  return build_grouped_graph(partition);
}

Result<Graph> isolate(const Graph& graph, const PassContext& context) {
  TUFF_ASSIGN(Graph with_blocks, group_blocks(graph, context, isolate));
  return build_grouped_graph(make_partition(with_blocks, *context.caps, LoadWork::kApart));
}

}  // namespace tuff
