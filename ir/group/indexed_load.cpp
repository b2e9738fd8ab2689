// Ops that read operands at data-dependent places or as bits of other elements:
// which elements they read.
#include <algorithm>

#include "ir/group/group_space.h"

namespace tuff {

namespace {

// StableHLO specification, "dynamic_slice": starts are clamped to keep the slice inside.
IndexedLoad dynamic_slice_load(const Graph& graph, const Node& node, const IndexVector& index) {
  IndexedLoad load;
  const Shape& operand = graph.type(node.operands[0]).shape;
  for (size_t d = 0; d < operand.size(); ++d) {
    load.base.push_back(index[d]);
    int64_t max = operand[d] - node.types[0].shape[d];
    if (max == 0) continue;
    load.start_operand.push_back(static_cast<uint32_t>(1 + d));
    load.start_index.push_back({});
    load.start_dim.push_back(static_cast<int64_t>(d));
    load.start_max.push_back(max);
  }
  return load;
}

bool contains(const std::vector<int64_t>& values, int64_t v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

// StableHLO specification, "gather": batch dimensions of the result address
// start_indices, offset dimensions address the slice.
IndexedLoad gather_load(const Graph& graph, const Node& node, const IndexVector& index) {
  const auto& attrs = node.attrs.as<GatherAttrs>();
  const Shape& operand = graph.type(node.operands[0]).shape;
  const Shape& starts = graph.type(node.operands[1]).shape;
  const auto& offset_dims = attrs.offset_dims;
  const auto& collapsed = attrs.collapsed_slice_dims;
  const auto& operand_batch = attrs.operand_batching_dims;
  const auto& starts_batch = attrs.start_indices_batching_dims;
  const auto& start_map = attrs.start_index_map;
  const auto& sizes = attrs.slice_sizes;
  int64_t vector_dim = attrs.index_vector_dim;
  IndexVector batch, offset;
  for (size_t d = 0; d < index.size(); ++d)
    (contains(offset_dims, static_cast<int64_t>(d)) ? offset : batch).push_back(index[d]);

  IndexedLoad load;
  size_t next_offset = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(operand.size()); ++d) {
    if (contains(collapsed, d)) {
      load.base.push_back(0);
    } else if (contains(operand_batch, d)) {
      auto k = std::find(operand_batch.begin(), operand_batch.end(), d) - operand_batch.begin();
      int64_t dim = starts_batch[static_cast<size_t>(k)];
      load.base.push_back(batch[static_cast<size_t>(dim > vector_dim ? dim - 1 : dim)]);
    } else {
      load.base.push_back(offset[next_offset++]);
    }
  }
  for (size_t c = 0; c < start_map.size(); ++c) {
    auto d = static_cast<size_t>(start_map[c]);
    int64_t max = operand[d] - sizes[d];
    if (max == 0) continue;
    IndexVector at = batch;
    if (vector_dim < static_cast<int64_t>(starts.size()))
      at.insert(at.begin() + vector_dim, IndexExpr(static_cast<int64_t>(c)));
    load.start_operand.push_back(1);
    load.start_index.push_back(std::move(at));
    load.start_dim.push_back(static_cast<int64_t>(d));
    load.start_max.push_back(max);
  }
  return load;
}

}  // namespace

IndexedLoad indexed_load(const Graph& graph, const Node& node, const IndexVector& index) {
  return node.op == Op::kGather ? gather_load(graph, node, index)
                                : dynamic_slice_load(graph, node, index);
}

std::vector<int64_t> update_start_max(const Graph& graph, const Node& node) {
  std::vector<int64_t> max;
  const Shape& update = graph.type(node.operands[1]).shape;
  for (size_t d = 0; d < update.size(); ++d) max.push_back(node.types[0].shape[d] - update[d]);
  return max;
}

std::vector<IndexVector> bitcast_sources(const Graph& graph, const Node& node,
                                         const IndexVector& index) {
  const Shape& operand = graph.type(node.operands[0]).shape;
  IndexVector at(index.begin(),
                 index.begin() + static_cast<long>(std::min(index.size(), operand.size())));
  if (operand.size() <= index.size()) return {at};
  std::vector<IndexVector> parts;
  for (int64_t part = 0; part < operand.back(); ++part) {
    parts.push_back(at);
    parts.back().push_back(part);
  }
  return parts;
}

}  // namespace tuff
