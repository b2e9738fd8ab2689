// scatter with any region and any number of inputs (StableHLO, scatter). Updates
// are applied index vector by index vector in row-major order, and inside one in
// row-major window order; elements that land outside the input are skipped.
#include "ir/evaluate/indexing.h"
#include "ir/evaluate/ops.h"
#include "ir/evaluate/region.h"
#include "ir/evaluate/walk.h"

namespace tuff::eval {

namespace {

// Where updates land: the dimension numbers turned into strides.
struct Placement {
  Shape shape;                   // of the inputs
  std::vector<int64_t> strides;  // of the inputs
  std::vector<int64_t> window;   // input dimensions that the window spans
  Shape window_shape;
  std::vector<int64_t> update_window_strides;
  std::vector<int64_t> update_batch_strides;
  std::vector<int64_t> start_dims;  // scatter_dims_to_operand_dims
  std::vector<int64_t> batching;
  std::vector<int64_t> index_batching;
  int64_t vector_dim = 0;

  Placement(const Node& node, const Shape& input, const Shape& update)
      : shape(input),
        strides(row_major_strides(input)),
        start_dims(node.attrs.as<ScatterAttrs>().scatter_dims_to_operand_dims),
        batching(node.attrs.as<ScatterAttrs>().input_batching_dims),
        index_batching(node.attrs.as<ScatterAttrs>().scatter_indices_batching_dims),
        vector_dim(node.attrs.as<ScatterAttrs>().index_vector_dim) {
    const auto& window_dims = node.attrs.as<ScatterAttrs>().update_window_dims;
    std::vector<int64_t> update_strides = row_major_strides(update);
    window = other_dims(input.size(), node.attrs.as<ScatterAttrs>().inserted_window_dims, batching);
    window_shape = pick(update, window_dims);
    update_window_strides = pick(update_strides, window_dims);
    update_batch_strides = pick(update_strides, other_dims(update.size(), window_dims));
  }

  // First input index of the window for one index vector; may lie outside.
  std::vector<int64_t> start(const IndexVectors& vectors, const std::vector<int64_t>& batch) const {
    std::vector<int64_t> index(shape.size(), 0);
    for (size_t c = 0; c < start_dims.size(); ++c)
      index[static_cast<size_t>(start_dims[c])] = vectors.component(batch, static_cast<int64_t>(c));
    for (size_t i = 0; i < batching.size(); ++i)
      index[static_cast<size_t>(batching[i])] =
          batch[batch_position(index_batching[i], vector_dim)];
    return index;
  }

  // Offset of start + window position, or -1 where that is outside the input.
  int64_t offset(const std::vector<int64_t>& start, const std::vector<int64_t>& position) const {
    int64_t offset = 0;
    for (size_t d = 0, w = 0; d < shape.size(); ++d) {
      int64_t index = start[d];
      if (w < window.size() && window[w] == static_cast<int64_t>(d)) index += position[w++];
      if (index < 0 || index >= shape[d]) return -1;
      offset += index * strides[d];
    }
    return offset;
  }
};

}  // namespace

Result<Literals> evaluate_scatter(const Node& node, const Literals& operands) {
  size_t k = operands.size() / 2;
  TUFF_ASSIGN(ScalarRegion body, ScalarRegion::compile(*node.regions[0]));
  Literals results, updates;
  std::vector<int64_t> bytes;
  std::vector<std::byte*> out;
  for (size_t j = 0; j < k; ++j) {
    const TensorType& type = node.types[j];
    Literal input = convert_literal(operands[j], type.dtype);
    results.emplace_back(type,
                         std::vector<std::byte>(input.bytes(), input.bytes() + input.size_bytes()));
    updates.push_back(convert_literal(operands[k + 1 + j], type.dtype));
    bytes.push_back(dtype_size(type.dtype));
    out.push_back(results[j].mutable_bytes());
  }
  Placement place(node, node.types[0].shape, updates[0].type().shape);
  IndexVectors vectors(operands[k], place.vector_dim);
  std::vector<Cell> cells(2 * k);
  for (Counter batch(vectors.batch_shape()); batch.valid(); batch.next()) {
    std::vector<int64_t> start = place.start(vectors, batch.index());
    int64_t update_start = dot_offset(batch.index(), place.update_batch_strides);
    for (Counter window(place.window_shape); window.valid(); window.next()) {
      int64_t at = place.offset(start, window.index());
      if (at < 0) continue;
      int64_t from = update_start + dot_offset(window.index(), place.update_window_strides);
      for (size_t j = 0; j < k; ++j) {
        cells[j] = load_cell(out[j] + at * bytes[j], bytes[j]);
        cells[k + j] = load_cell(updates[j].bytes() + from * bytes[j], bytes[j]);
      }
      TUFF_RETURN_IF_ERROR(body.run(cells.data(), cells.data()));
      for (size_t j = 0; j < k; ++j) store_cell(cells[j], out[j] + at * bytes[j], bytes[j]);
    }
  }
  return results;
}

}  // namespace tuff::eval
