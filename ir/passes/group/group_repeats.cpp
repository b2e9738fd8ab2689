// What a join would compute again and again: a series (an exponential, a sine) of few elements
// that are spread over many, as the angles of rotary embeddings are over all heads.
#include <algorithm>
#include <set>

#include "ir/passes/group/grouping.h"
#include "ir/passes/place.h"

namespace tuff {

namespace {

// Lanes have the same value where a broadcast makes the last dimension: it is computed once for
// many of them.
bool is_uniform_in_rows(const Graph& graph, const Node& node) {
  if (node.op != Op::kBroadcastInDim) return false;
  const Shape &from = graph.type(node.operands[0]).shape, &to = node.types[0].shape;
  auto last = static_cast<int64_t>(to.size()) - 1;
  while (last >= 0 && to[static_cast<size_t>(last)] == 1) --last;
  const auto& dims = node.attrs.as<BroadcastInDimAttrs>().broadcast_dimensions;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] == last) return from[d] == 1;
  return true;
}

// The members of a group that a value is read from element by element.
void find_sources(const Partition& p, Value v, uint32_t group, std::set<uint32_t>& sources) {
  std::vector<uint32_t> stack{v.node};
  std::set<uint32_t> seen;
  while (!stack.empty()) {
    uint32_t id = stack.back();
    stack.pop_back();
    if (!seen.insert(id).second) continue;
    const Node& node = p.graph->node(id);
    if (p.group_of[id] == static_cast<int>(group))
      sources.insert(id);
    else if (p.roles[id] == Role::kTransparent && !is_uniform_in_rows(*p.graph, node))
      for (Value operand : node.operands) stack.push_back(operand.node);
  }
}

// Series of so many elements that it takes as long to launch a kernel of their own.
int64_t worth_a_kernel(const Caps& caps) {
  if (caps.device_class == DeviceClass::kCpu) return int64_t{1} << 15;
  return is_gpu(caps) ? int64_t{1} << 22 : int64_t{1} << 17;
}

}  // namespace

bool repeats_series(const Partition& partition, uint32_t producer, uint32_t consumer,
                    const Caps& caps) {
  constexpr int64_t kLeastRepeats = 4;
  const Graph& graph = *partition.graph;
  const Group& from = partition.groups[producer];
  if (from.kind != GroupKind::kMap) return false;
  auto is_float_series = [&](uint32_t id) {
    const Node& node = graph.node(id);
    return is_series(node.op) && is_float(node.types[0].dtype);
  };
  const auto series = std::count_if(from.members.begin(), from.members.end(), is_float_series);
  if (series == 0) return false;
  for (uint32_t id : partition.groups[consumer].members) {
    const int64_t readings = graph.node(id).types[0].num_elements();
    if (series * readings < worth_a_kernel(caps)) continue;
    std::set<uint32_t> sources;
    for (Value v : graph.node(id).operands) find_sources(partition, v, producer, sources);
    for (uint32_t source : sources)
      if (readings >= kLeastRepeats * graph.node(source).types[0].num_elements()) return true;
  }
  return false;
}

}  // namespace tuff
