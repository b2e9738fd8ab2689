#include "ir/passes/group.h"

#include "ir/passes/grouping.h"

namespace tuff {

Result<Graph> group(const Graph& graph, const PassContext& context) {
  Partition partition = make_partition(graph, *context.caps);
  join_groups(partition, *context.caps);
  sink_views(partition);
  return build_grouped_graph(partition);
}

Result<Graph> isolate(const Graph& graph, const PassContext& context) {
  return build_grouped_graph(make_partition(graph, *context.caps));
}

}  // namespace tuff
