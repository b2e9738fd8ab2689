// Loops and branches over parts: how what they carry is spread, and their regions over these parts.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ir/spmd/mesh.h"

namespace tuff::spmd {

// A region over the parts of its arguments, and how its results are spread.
struct PartRegion {
  Graph graph;
  std::vector<Sharding> outputs;
  // Its last parameter is the device's number, which the whole region's are not.
  bool takes_partition_id = false;
  bool exchanges = false;  // devices would have to meet in it
};

// `outputs` empty: results are spread as they come. With `partition_id` the region takes it whether
// it needs it or not.
using PartitionRegion = std::function<Result<PartRegion>(
    const Graph& region, const std::vector<Sharding>& arguments,
    const std::vector<std::optional<Sharding>>& outputs, bool partition_id)>;

struct SpreadRegions {
  std::vector<Sharding> operands;  // those that become the regions' arguments
  std::vector<Sharding> results;   // a loop's are its operands'
  std::vector<GraphPtr> regions;
  bool takes_partition_id = false;  // one more operand; of a loop also one more result
};

// A while whose operands are spread so: what the body makes of a value decides how it is spread in
// all rounds. Nothing where devices would have to meet in a round.
Result<std::optional<SpreadRegions>> spread_loop(const Node& loop, std::vector<Sharding> operands,
                                                 const PartitionRegion& partition);

// An if or a case, operands without the index: all branches spread a result alike.
Result<std::optional<SpreadRegions>> spread_branches(const Node& node,
                                                     std::vector<Sharding> operands,
                                                     const PartitionRegion& partition);

}  // namespace tuff::spmd
