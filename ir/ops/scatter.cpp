#include "ir/ops/scatter.h"

#include <algorithm>

namespace tuff {

namespace {

bool contains(const std::vector<int64_t>& values, int64_t v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

// The window's dimensions, in order, are those neither inserted nor batching.
void place_window(const Node& node, const Shape& updates, ScatterDims& s) {
  const auto& window = node.attrs.as<ScatterAttrs>().update_window_dims;
  const auto& inserted = node.attrs.as<ScatterAttrs>().inserted_window_dims;
  size_t next = 0;
  for (size_t d = 0; d < s.dims.size(); ++d) {
    if (s.dims[d].batch >= 0 || contains(inserted, static_cast<int64_t>(d))) continue;
    s.dims[d].update_dim = window[next++];
    s.dims[d].window = updates[static_cast<size_t>(s.dims[d].update_dim)];
  }
  for (int64_t d = 0; d < static_cast<int64_t>(updates.size()); ++d)
    if (!contains(window, d)) s.batch_update_dims.push_back(d);
}

}  // namespace

ScatterDims scatter_dims(const Graph& graph, const Node& node) {
  size_t inputs = node.types.size();
  const Shape& indices = graph.type(node.operands[inputs]).shape;
  const Shape& updates = graph.type(node.operands[inputs + 1]).shape;
  ScatterDims s;
  s.vector_dim = node.attrs.as<ScatterAttrs>().index_vector_dim;
  s.indices_rank = indices.size();
  s.updates_rank = updates.size();
  for (int64_t size : node.types[0].shape) s.dims.push_back({size});
  for (size_t d = 0; d < indices.size(); ++d)
    if (static_cast<int64_t>(d) != s.vector_dim) s.batch.push_back(indices[d]);
  s.batch_is_fixed.resize(s.batch.size());
  const auto& batching = node.attrs.as<ScatterAttrs>().input_batching_dims;
  const auto& index_batching = node.attrs.as<ScatterAttrs>().scatter_indices_batching_dims;
  for (size_t i = 0; i < batching.size(); ++i) {
    int64_t position = index_batching[i] - (index_batching[i] > s.vector_dim ? 1 : 0);
    s.dims[static_cast<size_t>(batching[i])].batch = position;
    s.batch_is_fixed[static_cast<size_t>(position)] = true;
  }
  const auto& components = node.attrs.as<ScatterAttrs>().scatter_dims_to_operand_dims;
  for (size_t c = 0; c < components.size(); ++c)
    s.dims[static_cast<size_t>(components[c])].component = static_cast<int64_t>(c);
  place_window(node, updates, s);
  return s;
}

IndexVector ScatterDims::component_index(const IndexVector& at, int64_t c) const {
  IndexVector index = at;
  if (vector_dim < static_cast<int64_t>(indices_rank))
    index.insert(index.begin() + vector_dim, IndexExpr(c));
  return index;
}

Shape ScatterDims::free_batch() const {
  Shape sizes;
  for (size_t b = 0; b < batch.size(); ++b)
    if (!batch_is_fixed[b]) sizes.push_back(batch[b]);
  return sizes;
}

IndexVector ScatterDims::batch_index(const IndexVector& free,
                                     const IndexVector& result_index) const {
  IndexVector at(batch.size());
  for (size_t b = 0, f = 0; b < batch.size(); ++b)
    if (!batch_is_fixed[b]) at[b] = free[f++];
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d].batch >= 0) at[static_cast<size_t>(dims[d].batch)] = result_index[d];
  return at;
}

}  // namespace tuff
