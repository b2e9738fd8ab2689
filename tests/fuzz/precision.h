// How exactly a graph's values are known, so that a random graph says itself how its
// results are compared: bit for bit where every step is exact in any order.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace tuff::fuzz {

struct Precision {
  // Whole numbers, small enough that sums of them are exact where `clamped_for_sums`.
  bool integral = true;
  double ulp = 0;           // bound in units of the last place; movement keeps it
  double relative = 0;      // bound on the error over the largest value (library ops)
  bool contracted = false;  // made of a contraction's results
  bool exact() const { return ulp == 0 && relative == 0; }
};

// Of every node of the graph (all results alike), by node id. A parameter is integral
// iff it is of integers or its name is kWholeName.
inline constexpr const char* kWholeName = "whole";
inline constexpr const char* kIndexName = "index";
inline constexpr const char* kPowerName = "power";
std::vector<Precision> precisions(const Graph& graph);
Precision precision_of(const Node& node, const std::vector<Precision>& of_nodes);

// Values for the graph's parameters, by their names: small whole numbers, eighths in
// [-125, 125], indices in [-2, 9], or powers of two of either sign.
std::vector<Literal> make_arguments(const Graph& graph, uint32_t seed);

// Empty when each output is as near to the expected one as its precision says, else
// the first element that is not.
std::string difference(const Graph& graph, const std::vector<Literal>& got,
                       const std::vector<Literal>& expected);

}  // namespace tuff::fuzz
