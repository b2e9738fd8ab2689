// Type rules: what a node's result types must be, given its operands' types and
// its attributes. The one home of each op's shape rule: verify compares against
// it, passes that build nodes ask it.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace tuff {

using Types = std::vector<TensorType>;

// The result types of the node. What the operands do not imply (the shape of a
// reshape, the element type of a convert) is taken from node.types. Errors say
// what is wrong with the node, without its place. Regions' insides are not checked
// here, their signatures are.
Result<Types> infer_types(const Node& node, const Types& operands);

// The same for a node about to be added to a graph.
Result<Types> infer_types(const Graph& graph, const Node& node);

}  // namespace tuff
