// Elements by indices that are data.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

Items gather(const Call& call) {
  Tensor x = call.need(0), indices = call.need(1);
  int64_t axis = x.axis(call.i("axis", 0));
  return {x.take(wrap_indices(indices, x.dim(axis)), axis)};
}

Items gather_elements(const Call& call) {
  Tensor x = call.need(0), indices = call.need(1);
  int64_t axis = x.axis(call.i("axis", 0));
  return {x.take_along(wrap_indices(indices, x.dim(axis)), axis)};
}

// Index vectors, along the last dimension, of which each component has its own size.
Tensor wrap_vectors(const Tensor& indices, const Tensor& x, int64_t first) {
  Ints sizes;
  for (int64_t d = first; d < first + indices.dim(-1); ++d) sizes.push_back(x.dim(d));
  return (indices < 0.0).select(indices + indices.ints(sizes, indices.dtype()), indices);
}

Items gather_nd(const Call& call) {
  Tensor x = call.need(0), indices = call.need(1);
  int64_t batches = call.i("batch_dims", 0), depth = indices.dim(-1);
  if (batches < 0 || batches >= indices.rank() || batches + depth > x.rank())
    refuse_input(
        fmt::format("Indices ({}) do not fit ({}).", words(indices.type()), words(x.type())));
  GatherAttrs attrs;
  attrs.operand_batching_dims = attrs.start_indices_batching_dims = range(0, batches);
  attrs.collapsed_slice_dims = attrs.start_index_map = range(batches, batches + depth);
  attrs.index_vector_dim = indices.rank() - 1;
  attrs.offset_dims = range(indices.rank() - 1, indices.rank() - 1 + x.rank() - batches - depth);
  attrs.slice_sizes = x.shape();
  for (int64_t d = 0; d < batches + depth; ++d) attrs.slice_sizes[at(d)] = 1;
  return {x.add(Op::kGather, {wrap_vectors(indices, x, batches)}, x.type(), std::move(attrs))};
}

// What becomes of an element that is there and one that comes.
GraphPtr update_region(const Call& call, DType dtype) {
  std::string reduction = call.s("reduction", "none");
  if (reduction == "add") return scalar_region(Op::kAdd, dtype);
  if (reduction == "mul") return scalar_region(Op::kMultiply, dtype);
  if (reduction == "max") return scalar_region(Op::kMaximum, dtype);
  if (reduction == "min") return scalar_region(Op::kMinimum, dtype);
  if (reduction != "none")
    refuse_input(fmt::format("The attribute reduction ({}) is not known.", reduction));
  return make_region({{dtype, {}}, {dtype, {}}}, {},
                     [](const std::vector<Tensor>& p) { return std::vector<Tensor>{p[1]}; });
}

Tensor scatter(const Call& call, const Tensor& x, const Tensor& indices, const Tensor& updates,
               ScatterAttrs attrs) {
  if (updates.num_elements() == 0) return x;
  return {*call.emitter,
          call.emitter->add(Op::kScatter, {x.value(), indices.value(), updates.value()}, {x.type()},
                            std::move(attrs), {update_region(call, x.dtype())})[0]};
}

Items scatter_elements(const Call& call) {
  Tensor x = call.need(0), updates = call.need(2);
  int64_t axis = x.axis(call.i("axis", 0));
  Tensor indices = wrap_indices(call.need(1), x.dim(axis));
  if (indices.rank() != x.rank()) refuse_input("The indices have another rank than the data.");
  // Index vectors of all dimensions: the indices may cover a part of the others.
  std::vector<Tensor> vector;
  for (int64_t d = 0; d < x.rank(); ++d)
    vector.push_back(
        (d == axis ? indices : x.iota(indices.shape(), d, indices.dtype())).unsqueeze({x.rank()}));
  ScatterAttrs attrs;
  attrs.inserted_window_dims = attrs.scatter_dims_to_operand_dims = range(0, x.rank());
  attrs.index_vector_dim = x.rank();
  return {scatter(call, x, concatenate(vector, x.rank()), updates, std::move(attrs))};
}

Items scatter_nd(const Call& call) {
  Tensor x = call.need(0), indices = call.need(1), updates = call.need(2);
  int64_t depth = indices.dim(-1);
  if (depth > x.rank())
    refuse_input(
        fmt::format("Indices ({}) do not fit ({}).", words(indices.type()), words(x.type())));
  ScatterAttrs attrs;
  attrs.inserted_window_dims = attrs.scatter_dims_to_operand_dims = range(0, depth);
  attrs.update_window_dims = range(indices.rank() - 1, indices.rank() - 1 + x.rank() - depth);
  attrs.index_vector_dim = indices.rank() - 1;
  return {scatter(call, x, wrap_vectors(indices, x, 0), updates, std::move(attrs))};
}

constexpr OpRow kIndexingRows[] = {
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"Scatter", scatter_elements},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
};

}  // namespace

std::span<const OpRow> indexing_ops() { return kIndexingRows; }

}  // namespace tuff::onnx
