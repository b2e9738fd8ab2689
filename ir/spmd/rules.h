// How an operation's dimensions belong together when its tensors are spread over
// devices. Dimensions with one factor are split alike; a factor that the results lack
// is contracted, and each device then has a share of the result that is to be combined.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace tuff {

struct ShardingRule {
  // The factor of a dimension that every device must have the whole of.
  static constexpr int64_t kWhole = -1;

  // By factor: what combines the shares of the result; nothing where the results have it.
  std::vector<std::optional<Op>> combine;
  // The factor of each dimension of each operand and result.
  std::vector<std::vector<int64_t>> operands, results;
  // A dimension that must be whole, but is spread, is worth an exchange for another dimension that
  // is not: much is computed along it.
  bool worth_moving = false;
};

// The rule of a node of one device's or no device's program. Operations without a rule of
// their own need every operand whole.
ShardingRule sharding_rule(const Graph& graph, const Node& node);

// The operation of a reduction's region that is one of add, multiply, maximum, minimum,
// and, or on its two parameters.
std::optional<Op> reduction_op(const Graph& region);

// Puts the sizes of the parts into the attributes that tell sizes (slice_sizes, limits).
// `operand_types` and the node's own types are those of the parts.
void localize_sizes(const Node& whole, const std::vector<TensorType>& whole_operands,
                    const std::vector<TensorType>& operand_types, Node* part);

}  // namespace tuff
