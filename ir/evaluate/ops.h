// The evaluator's families: each function evaluates one node of its family from
// its operands (typed, aligned, in node order) and returns one literal per result.
// Inside ir/evaluate only; the public door is evaluate.h.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace tuff::eval {

using Literals = std::vector<Literal>;

Result<Literals> evaluate_elementwise(const Node& node, const Literals& operands);
Result<Literals> evaluate_movement(const Node& node, const Literals& operands);
Result<Literals> evaluate_indexing(const Node& node, const Literals& operands);
Result<Literals> evaluate_scatter(const Node& node, const Literals& operands);
Result<Literals> evaluate_reduce(const Node& node, const Literals& operands);
Result<Literals> evaluate_reduce_window(const Node& node, const Literals& operands);
Result<Literals> evaluate_select_and_scatter(const Node& node, const Literals& operands);
Result<Literals> evaluate_dot_general(const Node& node, const Literals& operands);
Result<Literals> evaluate_convolution(const Node& node, const Literals& operands);
Result<Literals> evaluate_sort(const Node& node, const Literals& operands);
Result<Literals> evaluate_top_k(const Node& node, const Literals& operands);
Result<Literals> evaluate_rng_bit_generator(const Node& node, const Literals& operands);
Result<Literals> evaluate_fft(const Node& node, const Literals& operands);
Result<Literals> evaluate_cholesky(const Node& node, const Literals& operands);
Result<Literals> evaluate_triangular_solve(const Node& node, const Literals& operands);
Result<Literals> evaluate_batch_norm(const Node& node, const Literals& operands);
// while, if, case, map, fused, optimization_barrier.
Result<Literals> evaluate_control(const Node& node, const Literals& operands);

// The literal in another element type, by the rules of convert.
Literal convert_literal(const Literal& literal, DType to);

// kUnsupported, naming the op and where it stands in the source.
Error unsupported(const Node& node, const std::string& what);

}  // namespace tuff::eval
