// The operations of programs for several devices: what devices exchange, and the marks by
// which a program says of its values where they are. No device and no evaluator computes
// them, so they are no rows of the op table: in a graph they are custom_calls that are
// known by their target, and partitioning and cutting leave none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace tuff {

enum class SpmdOp {
  // Exchanges of a group's devices. Attributes: replica_groups, the groups' partition ids
  // one after another; group_size; all_gather_dim, scatter_dimension, split_dimension,
  // concat_dimension as in StableHLO. Reductions have the region of the combination.
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kCollectivePermute,  // source_target_pairs
  // The device's own number: a scalar of ui32.
  kPartitionId,
  // Marks, with the attribute `sharding` (Sharding as ints): that the value is to be spread
  // so; that from here on each device sees its own part along manual_axes; that the parts are a
  // whole.
  kShardingConstraint,
  kFullToShard,
  kShardToFull,
  // That of a sum devices along manual_axes are to have shares: any that add up to it.
  kShares,
};

const char* spmd_op_name(SpmdOp op);
std::optional<SpmdOp> find_spmd_op(std::string_view name);
// Nothing for a node of one device's program.
std::optional<SpmdOp> spmd_op(const Node& node);
// An exchange: the devices of a group must all come to it.
bool is_exchange(const Node& node);

// A node without operands and types, to be filled in.
Node make_spmd_node(SpmdOp op, CustomCallAttrs attrs, std::string loc);
// One of a value, added to a graph.
Value add_spmd_op(Graph& graph, SpmdOp op, Value value, TensorType type, CustomCallAttrs attrs,
                  const std::string& loc);
// An all_reduce of a value: `combine` over groups of devices, one group after another.
Value add_all_reduce(Graph& graph, Value value, Op combine, std::vector<int64_t> replica_groups,
                     int64_t group_size, const std::string& loc);
// What a device sends in an exchange to the others of its group, of n: in an all_reduce 2 (n - 1) /
// n of its operand, in a reduce_scatter or all_to_all (n - 1) / n, in an all_gather n - 1 times its
// operand, in a permute once.
int64_t sent_bytes(const Node& exchange, const TensorType& operand);

// The name to put in messages: "all_reduce" for such a node, else the op's.
std::string node_name(const Node& node);

// The result's type, checked against the attributes; for partition_id and the marks the
// declared one. Errors: kBadInput without a place.
Result<TensorType> spmd_type(const Node& node, const std::vector<TensorType>& operands);

}  // namespace tuff
