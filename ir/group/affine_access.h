// Affine accesses: reading a value through views as base[offset + sum(index * stride)].
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace tuff {

// Element `index` of the value is element offset + sum(index[i] * strides[i]) of
// `base`, row-major, for every index in range. Strides may be 0 or negative.
struct AffineAccess {
  Value base;
  int64_t offset = 0;
  std::vector<int64_t> strides;  // one per dimension of the value
};

// Follows views (reshape, transpose, broadcast, slice, reverse) down from `value`
// while follow(node id) is true. Nothing iff the composed access is not affine.
template <typename Follow>
std::optional<AffineAccess> affine_access(const Graph& graph, Value value, const Follow& follow);

// The same through views and one conversion to the value's type, `dtype` being what the elements
// in memory are before it.
struct StoredAccess {
  AffineAccess read;
  DType dtype;
};
template <typename Follow>
std::optional<StoredAccess> stored_access(const Graph& graph, Value value, const Follow& follow);

// One stride for dimensions `dims` taken together row-major (the last fastest):
// exists iff each stride is the next one's times the next size; unit sizes do not
// count. An empty or all-unit list has stride 1.
std::optional<int64_t> merged_stride(const std::vector<int64_t>& dims, const Shape& shape,
                                     const std::vector<int64_t>& strides);

// --- implementation ---------------------------------------------------------

namespace affine_internal {
std::optional<AffineAccess> access_through(const Graph& graph, Value value,
                                           const std::vector<uint32_t>& chain);
}

template <typename Follow>
std::optional<AffineAccess> affine_access(const Graph& graph, Value value, const Follow& follow) {
  std::vector<uint32_t> chain;
  for (Value v = value; is_view(graph.node(v).op) && follow(v.node); v = graph.node(v).operands[0])
    chain.push_back(v.node);
  return affine_internal::access_through(graph, value, chain);
}

// What v is under whatever reshapes: the same elements in the same order.
Value through_reshapes(const Graph& graph, Value v);

template <typename Follow>
std::optional<StoredAccess> stored_access(const Graph& graph, Value value, const Follow& follow) {
  std::vector<uint32_t> chain;
  const DType wanted = graph.type(value).dtype;
  std::optional<DType> stored;
  for (Value v = value; follow(v.node); v = graph.node(v).operands[0]) {
    bool converts = graph.node(v).op == Op::kConvert && !stored && graph.type(v).dtype == wanted;
    if (!converts && !is_view(graph.node(v).op)) break;
    if (converts) stored = graph.type(graph.node(v).operands[0]).dtype;
    chain.push_back(v.node);
  }
  auto read = affine_internal::access_through(graph, value, chain);
  if (!read) return std::nullopt;
  return StoredAccess{*std::move(read), stored.value_or(wanted)};
}

}  // namespace tuff
