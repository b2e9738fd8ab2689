#include "ir/spmd/spread_regions.h"

#include <algorithm>

namespace tuff::spmd {

namespace {

// A value that is spread more each time has few axes to be spread over.
constexpr int kMostTries = 16;

// What both agree on.
Sharding common(const Sharding& a, const Sharding& b) {
  Sharding both = a;
  for (size_t d = 0; d < both.axes.size(); ++d) {
    auto end =
        std::mismatch(a.axes[d].begin(), a.axes[d].end(), b.axes[d].begin(), b.axes[d].end());
    both.axes[d].assign(a.axes[d].begin(), end.first);
  }
  return both;
}

std::vector<std::optional<Sharding>> wanted(const std::vector<Sharding>& shardings) {
  return {shardings.begin(), shardings.end()};
}

// The body gives the device's number on, unchanged.
GraphPtr carried_on(Graph body) {
  std::vector<Value> outputs = body.outputs();
  outputs.push_back({body.num_parameters() - 1, 0});
  body.set_outputs(std::move(outputs));
  return std::make_shared<const Graph>(std::move(body));
}

// Spreads the operands as the body does its results, until they agree. Where the body spreads one
// more, so it is from the start, for which nobody sends anything; where less, it is from the start.
Result<std::optional<std::vector<Sharding>>> settled(const Graph& body,
                                                     std::vector<Sharding> operands,
                                                     const PartitionRegion& partition) {
  for (int i = 0; i < kMostTries; ++i) {
    TUFF_ASSIGN(PartRegion part, partition(body, operands, {}, false));
    bool changed = false;
    for (size_t k = 0; k < operands.size(); ++k) {
      const Sharding& made = part.outputs[k];
      if (made == operands[k]) continue;
      changed = true;
      bool more = common(made, operands[k]) == operands[k];
      operands[k] = more ? made : common(made, operands[k]);
    }
    if (!changed) return std::optional(std::move(operands));
  }
  return std::optional<std::vector<Sharding>>();
}

}  // namespace

Result<std::optional<SpreadRegions>> spread_loop(const Node& loop, std::vector<Sharding> operands,
                                                 const PartitionRegion& partition) {
  const Graph &condition = *loop.regions[0], &body = *loop.regions[1];
  TUFF_ASSIGN(auto agreed, settled(body, std::move(operands), partition));
  if (!agreed) return std::optional<SpreadRegions>();
  const std::vector<std::optional<Sharding>> flag{Sharding::whole(0)};
  for (bool id : {false, true}) {
    TUFF_ASSIGN(PartRegion first, partition(condition, *agreed, flag, id));
    TUFF_ASSIGN(PartRegion second, partition(body, *agreed, wanted(*agreed), id));
    if (first.exchanges || second.exchanges) return std::optional<SpreadRegions>();
    if (!id && (first.takes_partition_id || second.takes_partition_id)) continue;
    GraphPtr rounds = id ? carried_on(std::move(second.graph))
                         : std::make_shared<const Graph>(std::move(second.graph));
    return std::optional(SpreadRegions{
        *agreed, *agreed, {std::make_shared<const Graph>(std::move(first.graph)), rounds}, id});
  }
  return std::optional<SpreadRegions>();
}

Result<std::optional<SpreadRegions>> spread_branches(const Node& node,
                                                     std::vector<Sharding> operands,
                                                     const PartitionRegion& partition) {
  std::vector<Sharding> results;
  for (const GraphPtr& branch : node.regions) {
    TUFF_ASSIGN(PartRegion part, partition(*branch, operands, {}, false));
    for (size_t r = 0; r < part.outputs.size(); ++r)
      if (results.size() <= r)
        results.push_back(part.outputs[r]);
      else
        results[r] = common(results[r], part.outputs[r]);
  }
  for (bool id : {false, true}) {
    SpreadRegions spread{operands, results, {}, id};
    bool needs_id = false;
    for (const GraphPtr& branch : node.regions) {
      TUFF_ASSIGN(PartRegion part, partition(*branch, operands, wanted(results), id));
      if (part.exchanges) return std::optional<SpreadRegions>();
      needs_id = needs_id || part.takes_partition_id;
      spread.regions.push_back(std::make_shared<const Graph>(std::move(part.graph)));
    }
    if (id || !needs_id) return std::optional(std::move(spread));
  }
  return std::optional<SpreadRegions>();
}

}  // namespace tuff::spmd
