// The reference evaluator: what a graph means, written from the StableHLO
// specification and independent of every kernel. It is the oracle of the tests
// and of `--check`, and folds constants; no device ever calls it.
//
// Values: floats round as each op rounds to its type; dots, convolutions and sums
// accumulate in double and round once; integers wrap and are exact.
// Graphs are expected to be verified: types and attributes are trusted, the
// contents of tensors (indices, predicates, trip counts) are not.
#pragma once

#include <functional>
#include <vector>

#include "ir/graph.h"

namespace tuff {

// The graph's outputs for arguments in parameter order. Each value is freed
// after its last use. Errors: kBadInput for arguments that do not match,
// kUnsupported for an op without a meaning here, kOutOfMemory.
Result<std::vector<Literal>> evaluate(const Graph& graph, const std::vector<Literal>& arguments);

// Called with every value of the graph in node order, parameters and constants
// included; an error stops the evaluation and is returned.
using ValueVisitor = std::function<Status(Value, const Literal&)>;
Result<std::vector<Literal>> evaluate_all(const Graph& graph, const std::vector<Literal>& arguments,
                                          const ValueVisitor& visit);

// One node (any op but parameter); operands in the node's order, one literal per result.
Result<std::vector<Literal>> evaluate_node(const Node& node, const std::vector<Literal>& operands);

}  // namespace tuff
