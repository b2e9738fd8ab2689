// Ops whose indices are data: dynamic slices, gather, scatter.
#include <algorithm>

#include "ir/infer/infer_rules.h"
#include "ir/text/print.h"

namespace tuff::infer {

namespace {

Status check_start_indices(const Types& operands, size_t first, int64_t rank) {
  auto count = static_cast<int64_t>(operands.size() - first);
  if (count != rank)
    return invalid("The operation needs ({}) start indices, found ({}).", rank, count);
  for (size_t i = first; i < operands.size(); ++i) {
    TUFF_RETURN_IF_ERROR(check_index("A start index", operands[i]));
    TUFF_RETURN_IF_ERROR(check_same("Every start index", operands[first], operands[i]));
  }
  return {};
}

Status check_sorted(const char* name, const Ints& list) {
  if (!std::is_sorted(list.begin(), list.end()))
    return invalid("Attribute {} ({}) must be ascending.", name, list_text(list));
  return {};
}

// What gather and scatter share: an operand addressed by index vectors, some of
// its dimensions dropped from the window, some paired with the indices' own.
struct IndexedNames {
  const char *window, *dropped, *operand_batch, *indices_batch, *index_map;
};

struct Indexed {
  Ints window, dropped, operand_batch, indices_batch, index_map;
  int64_t index_vector_dim = 0;
  Shape batch;  // the indices' shape without the index vector's dimension
};

Result<Indexed> check_indexed(Indexed x, const IndexedNames& names, const TensorType& operand,
                              const TensorType& indices) {
  if (!is_integer(indices.dtype))
    return invalid("The indices must be integers, found ({}).", print_type(indices));
  if (x.index_vector_dim < 0 || x.index_vector_dim > indices.rank())
    return invalid("Attribute index_vector_dim ({}) must be in [0, {}].", x.index_vector_dim,
                   indices.rank());
  for (int64_t d = 0; d < indices.rank(); ++d)
    if (d != x.index_vector_dim) x.batch.push_back(indices.shape[at(d)]);
  int64_t vector_size =
      x.index_vector_dim < indices.rank() ? indices.shape[at(x.index_vector_dim)] : 1;

  TUFF_RETURN_IF_ERROR(check_size(names.index_map, x.index_map, vector_size));
  TUFF_RETURN_IF_ERROR(check_dimensions(names.index_map, x.index_map, operand.rank()));
  TUFF_RETURN_IF_ERROR(check_dimensions(names.dropped, x.dropped, operand.rank()));
  TUFF_RETURN_IF_ERROR(check_dimensions(names.operand_batch, x.operand_batch, operand.rank()));
  TUFF_RETURN_IF_ERROR(check_dimensions(names.indices_batch, x.indices_batch, indices.rank()));
  TUFF_RETURN_IF_ERROR(check_sorted(names.dropped, x.dropped));
  TUFF_RETURN_IF_ERROR(check_sorted(names.operand_batch, x.operand_batch));
  TUFF_RETURN_IF_ERROR(check_sorted(names.window, x.window));
  TUFF_RETURN_IF_ERROR(check_size(names.indices_batch, x.indices_batch,
                                  static_cast<int64_t>(x.operand_batch.size())));
  for (size_t i = 0; i < x.operand_batch.size(); ++i) {
    int64_t d = x.operand_batch[i], e = x.indices_batch[i];
    if (contains(x.dropped, d) || contains(x.index_map, d))
      return invalid("Attribute {} ({}) names dimension ({}) that another list names too.",
                     names.operand_batch, list_text(x.operand_batch), d);
    if (e == x.index_vector_dim || operand.shape[at(d)] != indices.shape[at(e)])
      return invalid(
          "Batching dimension ({}) of the operand does not fit dimension ({}) of the indices.", d,
          e);
  }
  int64_t in_window =
      operand.rank() - static_cast<int64_t>(x.dropped.size() + x.operand_batch.size());
  TUFF_RETURN_IF_ERROR(check_size(names.window, x.window, in_window));
  return x;
}

}  // namespace

Result<Types> dynamic_slice(const Node& node, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_start_indices(operands, 1, operands[0].rank()));
  const Ints& sizes = node.attrs.as<DynamicSliceAttrs>().slice_sizes;
  TUFF_RETURN_IF_ERROR(check_size("slice_sizes", sizes, operands[0].rank()));
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] < 0 || sizes[d] > operands[0].shape[d])
      return invalid("Slice size ({}) does not fit dimension ({}) of size ({}).", sizes[d], d,
                     operands[0].shape[d]);
  return Types{{operands[0].dtype, sizes}};
}

Result<Types> dynamic_update_slice(const Node&, const Types& operands) {
  const TensorType &operand = operands[0], &update = operands[1];
  TUFF_RETURN_IF_ERROR(check_start_indices(operands, 2, operand.rank()));
  bool fits = update.dtype == operand.dtype && update.rank() == operand.rank();
  for (size_t d = 0; fits && d < update.shape.size(); ++d)
    fits = update.shape[d] <= operand.shape[d];
  if (!fits)
    return invalid("The update ({}) does not fit into the operand ({}).", print_type(update),
                   print_type(operand));
  return Types{operand};
}

Result<Types> gather(const Node& node, const Types& operands) {
  const auto& a = node.attrs.as<GatherAttrs>();
  const TensorType& operand = operands[0];
  TUFF_ASSIGN(Indexed x,
              check_indexed({a.offset_dims,
                             a.collapsed_slice_dims,
                             a.operand_batching_dims,
                             a.start_indices_batching_dims,
                             a.start_index_map,
                             a.index_vector_dim,
                             {}},
                            {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                             "start_indices_batching_dims", "start_index_map"},
                            operand, operands[1]));
  const Ints& sizes = a.slice_sizes;
  TUFF_RETURN_IF_ERROR(check_size("slice_sizes", sizes, operand.rank()));
  Shape offsets;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (sizes[at(d)] < 0 || sizes[at(d)] > operand.shape[at(d)])
      return invalid("Slice size ({}) does not fit dimension ({}) of size ({}).", sizes[at(d)], d,
                     operand.shape[at(d)]);
    bool dropped = contains(x.dropped, d) || contains(x.operand_batch, d);
    if (dropped && sizes[at(d)] > 1)
      return invalid("Slice size ({}) of dimension ({}) must be 1: the dimension is collapsed.",
                     sizes[at(d)], d);
    if (!dropped) offsets.push_back(sizes[at(d)]);
  }
  auto rank = static_cast<int64_t>(x.batch.size() + offsets.size());
  TUFF_RETURN_IF_ERROR(check_dimensions("offset_dims", x.window, rank));
  TensorType type{operand.dtype, {}};
  for (int64_t d = 0, batch = 0, offset = 0; d < rank; ++d)
    type.shape.push_back(contains(x.window, d) ? offsets[at(offset++)] : x.batch[at(batch++)]);
  return checked(type);
}

Result<Types> scatter(const Node& node, const Types& operands) {
  const auto& a = node.attrs.as<ScatterAttrs>();
  if (operands.size() % 2 == 0)
    return invalid("The operation does not take ({}) operands.", operands.size());
  size_t inputs = operands.size() / 2;
  const TensorType& operand = operands[0];
  TUFF_ASSIGN(Indexed x,
              check_indexed({a.update_window_dims,
                             a.inserted_window_dims,
                             a.input_batching_dims,
                             a.scatter_indices_batching_dims,
                             a.scatter_dims_to_operand_dims,
                             a.index_vector_dim,
                             {}},
                            {"update_window_dims", "inserted_window_dims", "input_batching_dims",
                             "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"},
                            operand, operands[inputs]));
  const TensorType& updates = operands[inputs + 1];
  TUFF_RETURN_IF_ERROR(check_dimensions("update_window_dims", x.window, updates.rank()));
  Ints bounds;
  for (int64_t d = 0; d < operand.rank(); ++d)
    if (!contains(x.dropped, d) && !contains(x.operand_batch, d))
      bounds.push_back(operand.shape[at(d)]);
  if (updates.rank() != static_cast<int64_t>(x.batch.size() + bounds.size()))
    return invalid("The updates ({}) must have rank ({}).", print_type(updates),
                   x.batch.size() + bounds.size());
  for (int64_t d = 0, batch = 0, window = 0; d < updates.rank(); ++d) {
    bool fits = contains(x.window, d) ? updates.shape[at(d)] <= bounds[at(window++)]
                                      : updates.shape[at(d)] == x.batch[at(batch++)];
    if (!fits)
      return invalid("Dimension ({}) of the updates ({}) does not fit.", d, print_type(updates));
  }
  Types body_in, body_out, results;
  for (size_t side = 0; side < 2; ++side)
    for (size_t i = 0; i < inputs; ++i) {
      const TensorType& like = side == 0 ? operand : updates;
      const TensorType& found = operands[side == 0 ? i : inputs + 1 + i];
      if (found.shape != like.shape)
        return invalid("Every input must have shape ({}), found ({}).", print_type(like),
                       print_type(found));
      // The body works in the result's element type, which may be wider.
      DType dtype = i < node.types.size() ? node.types[i].dtype : operands[i].dtype;
      body_in.push_back({dtype, {}});
      if (side == 1) body_out.push_back({dtype, {}});
      if (side == 1) results.push_back({dtype, operand.shape});
    }
  TUFF_RETURN_IF_ERROR(check_num_regions(node, 1));
  TUFF_RETURN_IF_ERROR(check_region(node, 0, "update computation", body_in, body_out));
  return results;
}

}  // namespace tuff::infer
