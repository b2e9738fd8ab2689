// A sharding rule being written, for the rules_*.cpp files.
#pragma once

#include "ir/spmd/rules.h"

namespace tuff::spmd {

struct RuleDraft {
  const Graph& graph;
  const Node& node;
  ShardingRule rule;  // everything whole at first

  RuleDraft(const Graph& graph, const Node& node);
  const TensorType& operand(size_t i) const { return graph.type(node.operands[i]); }
  int64_t add_factor(std::optional<Op> combine = std::nullopt);
  // A factor of an operand's and of the first result's dimension.
  void pair(size_t operand, size_t operand_dim, size_t result_dim);
  // A factor for each dimension of all operands and results of that rank.
  void share_all(size_t rank);
};

inline bool contains(const std::vector<int64_t>& list, size_t value) {
  for (int64_t entry : list)
    if (entry == static_cast<int64_t>(value)) return true;
  return false;
}

void dot_general(RuleDraft& draft);
void convolution(RuleDraft& draft);
void gather(RuleDraft& draft);
void scatter(RuleDraft& draft);
void dynamic_slice(RuleDraft& draft);
void dynamic_update_slice(RuleDraft& draft);

}  // namespace tuff::spmd
