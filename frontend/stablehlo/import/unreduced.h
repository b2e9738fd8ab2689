// Tensors of which devices have shares of a sum: Shardy's `unreduced` axes. Within a program the
// sum is made at once; shares are what goes in and out of programs, and of the bodies that each
// device runs by itself.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/spmd/mesh.h"
#include "ir/spmd/partition.h"

namespace tuff::stablehlo {

// Of a value that is the device's own along the axes `over`: the sum over the devices along these.
Value sum_of_shares(Graph& graph, Value share, const std::vector<int64_t>& over, const Mesh& mesh,
                    const std::string& loc);
// Shares of a sum for the devices along `over`.
Value shares_of(Graph& graph, Value sum, const std::vector<int64_t>& over, const std::string& loc);

// Arguments and outputs that are shares to the caller become sums within the program.
void sum_arguments(WholeProgram* program);
void share_outputs(WholeProgram* program);

}  // namespace tuff::stablehlo
