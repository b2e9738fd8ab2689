// Operations whose indices are data; many of the indices are out of range.
#include <algorithm>

#include "tests/fuzz/graph_builder.h"

namespace tuff::fuzz {

namespace {

std::vector<Value> scalar_indices(GraphBuilder& b, size_t count) {
  std::vector<Value> indices;
  for (size_t i = 0; i < count; ++i) indices.push_back(b.scalar(DType::kI32));
  return indices;
}

// How index vectors address an operand: which dimensions they move in, which the window
// drops, the window's sizes.
struct Addressing {
  Value indices;
  Ints index_map, dropped, window;
  int64_t index_vector_dim = 0;
  Shape batch;
};

std::optional<Addressing> address(GraphBuilder& b, const Shape& shape) {
  auto indices = b.find([&](Value v) {
    return b.type(v).dtype == DType::kI32 && b.type(v).rank() > 0 && b.type(v).rank() < 4;
  });
  if (!indices) return std::nullopt;
  Addressing a;
  a.indices = *indices;
  Shape of_indices = b.shape(*indices);
  auto rank = static_cast<int64_t>(shape.size());
  // The vector is some dimension of the indices, or each index is a vector of one.
  a.index_vector_dim = b.pick(static_cast<int64_t>(of_indices.size()) + 1);
  int64_t length = a.index_vector_dim < static_cast<int64_t>(of_indices.size())
                       ? of_indices[static_cast<size_t>(a.index_vector_dim)]
                       : 1;
  if (length > rank) return std::nullopt;
  for (size_t d = 0; d < of_indices.size(); ++d)
    if (static_cast<int64_t>(d) != a.index_vector_dim) a.batch.push_back(of_indices[d]);
  Ints order;
  for (int64_t d = 0; d < rank; ++d) order.push_back(d);
  std::shuffle(order.begin(), order.end(), b.random());
  a.index_map.assign(order.begin(), order.begin() + length);
  for (int64_t d = 0; d < rank; ++d) {
    int64_t size = shape[static_cast<size_t>(d)];
    bool moves = std::count(a.index_map.begin(), a.index_map.end(), d) > 0;
    if (size > 0 && moves && b.chance(2)) {
      a.dropped.push_back(d);
      a.window.push_back(1);
    } else {
      a.window.push_back(size == 0 ? 0 : 1 + b.pick(size));
    }
  }
  return a;
}

// Ascending places for the window's dimensions in a result of batch and window.
Ints window_places(GraphBuilder& b, size_t batch, size_t window) {
  Ints all;
  for (size_t d = 0; d < batch + window; ++d) all.push_back(static_cast<int64_t>(d));
  std::shuffle(all.begin(), all.end(), b.random());
  all.resize(window);
  std::sort(all.begin(), all.end());
  return all;
}

void add_gather(GraphBuilder& b, Value x) {
  auto a = address(b, b.shape(x));
  if (!a) return;
  GatherAttrs attrs{
      .offset_dims = window_places(b, a->batch.size(), a->window.size() - a->dropped.size()),
      .collapsed_slice_dims = a->dropped,
      .start_index_map = a->index_map,
      .slice_sizes = a->window};
  attrs.index_vector_dim = a->index_vector_dim;
  b.add(Op::kGather, {x, a->indices}, attrs, b.type(x));
}

void add_scatter(GraphBuilder& b, Value x) {
  DType dtype = b.type(x).dtype;
  auto a = address(b, b.shape(x));
  if (!a || dtype == DType::kBool) return;
  Ints places = window_places(b, a->batch.size(), a->window.size() - a->dropped.size());
  Shape shape;
  size_t batch = 0, window = 0;
  while (shape.size() < a->batch.size() + places.size()) {
    if (std::count(places.begin(), places.end(), static_cast<int64_t>(shape.size())) == 0) {
      shape.push_back(a->batch[batch++]);
      continue;
    }
    while (std::count(a->dropped.begin(), a->dropped.end(), static_cast<int64_t>(window)) > 0)
      ++window;
    shape.push_back(a->window[window++]);
  }
  if (num_elements(shape) > GraphBuilder::kMaxElements) return;
  auto updates =
      b.add(Op::kBroadcastInDim, {b.scalar(dtype)}, BroadcastInDimAttrs{}, {dtype, shape});
  if (auto found = b.find([&](Value v) { return b.type(v) == TensorType{dtype, shape}; }))
    updates = found;
  constexpr Op kCombiners[] = {Op::kAdd, Op::kMaximum, Op::kMinimum};
  Op combiner = kCombiners[b.pick(3)];
  std::optional<Value> base = x;
  if (combiner == Op::kAdd) {
    base = b.summable(x);
    if (base && updates) updates = b.summable(*updates);
  }
  if (!base || !updates) return;
  ScatterAttrs attrs{.update_window_dims = places,
                     .inserted_window_dims = a->dropped,
                     .scatter_dims_to_operand_dims = a->index_map};
  attrs.index_vector_dim = a->index_vector_dim;
  b.add(Op::kScatter, {*base, a->indices, *updates}, attrs, b.type(x),
        {b.binary_region(combiner, dtype)});
}

}  // namespace

void step_indexing(GraphBuilder& b, Op op) {
  Value x = b.any(/*moved=*/op != Op::kScatter);
  std::vector<Value> operands = {x};
  if (op == Op::kGather) return add_gather(b, x);
  if (op == Op::kScatter) return add_scatter(b, x);
  Ints sizes;
  for (int64_t size : b.shape(x)) sizes.push_back(size == 0 ? 0 : 1 + b.pick(size));
  if (op == Op::kDynamicUpdateSlice) {
    auto update = b.find([&](Value v) {
      bool fits = b.type(v).dtype == b.type(x).dtype && b.shape(v).size() == b.shape(x).size();
      for (size_t d = 0; fits && d < b.shape(x).size(); ++d) fits = b.shape(v)[d] <= b.shape(x)[d];
      return fits;
    });
    if (!update) return;
    operands.push_back(*update);
  }
  for (Value index : scalar_indices(b, b.shape(x).size())) operands.push_back(index);
  Attrs attrs;
  if (op == Op::kDynamicSlice) attrs = DynamicSliceAttrs{sizes};
  b.add(op, operands, attrs, b.type(x));
}

}  // namespace tuff::fuzz
