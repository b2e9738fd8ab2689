// The dimension numbers of scatter, per dimension of the result.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/index/view_map.h"

namespace tuff {

struct ScatterDims {
  struct Dim {
    int64_t size = 1;
    int64_t window = 1;       // extent of an update in this dimension
    int64_t component = -1;   // of the index vector that gives the start, -1: starts at 0
    int64_t batch = -1;       // batch dimension of the indices that gives the index itself
    int64_t update_dim = -1;  // dimension of the updates that walks the window
  };
  std::vector<Dim> dims;
  Shape batch;                       // the index vectors' positions
  std::vector<bool> batch_is_fixed;  // given by the result's index
  std::vector<int64_t> batch_update_dims;
  int64_t vector_dim = 0;
  size_t indices_rank = 0, updates_rank = 0;

  // Where component c of the index vector at `at` (one entry per batch dimension) stands.
  IndexVector component_index(const IndexVector& at, int64_t c) const;
  // Batch dimensions that are not fixed: their sizes, and positions put in place.
  Shape free_batch() const;
  IndexVector batch_index(const IndexVector& free, const IndexVector& result_index) const;
};
ScatterDims scatter_dims(const Graph& graph, const Node& node);

}  // namespace tuff
