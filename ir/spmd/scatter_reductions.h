// Sums of which each device needs its part only.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace tuff::spmd {

// What partitioning has added to a graph, by node.
struct Added {
  struct Cut {
    int64_t dimension = 0;
    std::vector<int64_t> over;  // the mesh's axes
  };
  std::unordered_map<uint32_t, Cut> cuts;  // of operand 0, a part for each device
  std::unordered_map<uint32_t, std::vector<int64_t>> all_reduces;  // and the axes they go over
};

// An all_reduce of which nothing but one cut over its axes is used becomes a reduce_scatter: half
// the bytes.
Graph scatter_reductions(const Graph& part, const Added& added);

}  // namespace tuff::spmd
