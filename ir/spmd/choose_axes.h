// Along which of its dimensions an operation is computed part by part, given how its operands are
// spread.
#pragma once

#include <vector>

#include "ir/spmd/mesh.h"
#include "ir/spmd/rules.h"

namespace tuff::spmd {

// By factor of a rule the mesh's axes that it is split over.
using FactorAxes = std::vector<std::vector<int64_t>>;

Sharding sharding_by(const std::vector<int64_t>& factors, const FactorAxes& axes);

struct SpreadOperand {
  const Sharding* sharding = nullptr;
  bool is_weight = false;  // an argument, or made of one alone
};

// What is given up where operands are spread over one axis along dimensions of different factors.
// Never that results are spread: then all devices would compute the same from there on.
enum class GiveUp {
  kFewestBytes,  // that for which devices receive the fewest bytes now
  kWeights,  // weights are gathered first: what becomes of activations goes on as they are spread
};

// Each axis once, and only where all dimensions of a factor can be split so. `contested` becomes
// true where something was given up.
FactorAxes choose_axes(const Graph& whole, const Node& node, const ShardingRule& rule,
                       const std::vector<SpreadOperand>& operands, const Mesh& mesh, GiveUp give_up,
                       bool* contested);

}  // namespace tuff::spmd
