// dynamic_slice, dynamic_update_slice and gather; indices are clamped so that the
// slice lies inside the operand.
#include "ir/evaluate/indexing.h"

#include <algorithm>

#include "ir/evaluate/ops.h"
#include "ir/evaluate/walk.h"

namespace tuff::eval {

int64_t index_value(const Literal& indices, int64_t i) {
  constexpr int64_t kFar = int64_t{1} << 62;
  int64_t value = indices.get_int(i);
  if (indices.type().dtype == DType::kU64 && value < 0) return kFar;
  return std::clamp(value, -kFar, kFar);
}

IndexVectors::IndexVectors(const Literal& indices, int64_t index_vector_dim) : indices_(indices) {
  const Shape& shape = indices.type().shape;
  std::vector<int64_t> strides = row_major_strides(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (static_cast<int64_t>(d) == index_vector_dim) {
      vector_stride_ = strides[d];
    } else {
      batch_shape_.push_back(shape[d]);
      batch_strides_.push_back(strides[d]);
    }
  }
}

int64_t IndexVectors::component(const std::vector<int64_t>& batch, int64_t c) const {
  return index_value(indices_, dot_offset(batch, batch_strides_) + c * vector_stride_);
}

std::vector<int64_t> other_dims(size_t rank, const std::vector<int64_t>& a,
                                const std::vector<int64_t>& b, const std::vector<int64_t>& c) {
  auto contains = [](const std::vector<int64_t>& list, int64_t d) {
    return std::find(list.begin(), list.end(), d) != list.end();
  };
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d)
    if (!contains(a, d) && !contains(b, d) && !contains(c, d)) dims.push_back(d);
  return dims;
}

std::vector<int64_t> pick(const std::vector<int64_t>& values, const std::vector<int64_t>& dims) {
  std::vector<int64_t> picked;
  for (int64_t d : dims) picked.push_back(values[static_cast<size_t>(d)]);
  return picked;
}

namespace {

// Offset of a slice of `sizes` whose start indices are the scalars from operand `first` on.
int64_t clamped_offset(const Literals& operands, size_t first, const Shape& shape,
                       const Shape& sizes) {
  std::vector<int64_t> strides = row_major_strides(shape);
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t start = index_value(operands[first + d], 0);
    offset += std::clamp<int64_t>(start, 0, shape[d] - sizes[d]) * strides[d];
  }
  return offset;
}

Literal dynamic_slice(const Node& node, const Literals& operands) {
  const TensorType& type = node.types[0];
  const Shape& shape = operands[0].type().shape;
  Literal result(type);
  copy_box(type.shape, dtype_size(type.dtype), operands[0].bytes(),
           {clamped_offset(operands, 1, shape, type.shape), row_major_strides(shape)},
           result.mutable_bytes(), {0, row_major_strides(type.shape)});
  return result;
}

Literal dynamic_update_slice(const Node& node, const Literals& operands) {
  const TensorType& type = node.types[0];
  const Shape& update = operands[1].type().shape;
  Literal result(type, std::vector<std::byte>(operands[0].bytes(),
                                              operands[0].bytes() + operands[0].size_bytes()));
  copy_box(update, dtype_size(type.dtype), operands[1].bytes(), {0, row_major_strides(update)},
           result.mutable_bytes(),
           {clamped_offset(operands, 2, type.shape, update), row_major_strides(type.shape)});
  return result;
}

// StableHLO, gather: every batch position copies one slice, whose dimensions
// become offset_dims of the result.
Literal gather(const Node& node, const Literal& operand, const Literal& indices) {
  const TensorType& type = node.types[0];
  const Shape& shape = operand.type().shape;
  const auto& slice_sizes = node.attrs.as<GatherAttrs>().slice_sizes;
  const auto& start_index_map = node.attrs.as<GatherAttrs>().start_index_map;
  const auto& offset_dims = node.attrs.as<GatherAttrs>().offset_dims;
  const auto& batching = node.attrs.as<GatherAttrs>().operand_batching_dims;
  const auto& index_batching = node.attrs.as<GatherAttrs>().start_indices_batching_dims;
  int64_t vector_dim = node.attrs.as<GatherAttrs>().index_vector_dim;
  IndexVectors vectors(indices, vector_dim);

  std::vector<int64_t> strides = row_major_strides(shape);
  std::vector<int64_t> out_strides = row_major_strides(type.shape);
  std::vector<int64_t> window =
      other_dims(shape.size(), node.attrs.as<GatherAttrs>().collapsed_slice_dims, batching);
  std::vector<int64_t> batch_strides =
      pick(out_strides, other_dims(type.shape.size(), offset_dims));
  Shape window_shape = pick(slice_sizes, window);
  Box from{0, pick(strides, window)}, to{0, pick(out_strides, offset_dims)};
  Literal result(type);
  for (Counter batch(vectors.batch_shape()); batch.valid(); batch.next()) {
    from.offset = 0;
    for (size_t c = 0; c < start_index_map.size(); ++c) {
      auto d = static_cast<size_t>(start_index_map[c]);
      int64_t start = vectors.component(batch.index(), static_cast<int64_t>(c));
      from.offset += std::clamp<int64_t>(start, 0, shape[d] - slice_sizes[d]) * strides[d];
    }
    for (size_t i = 0; i < batching.size(); ++i)
      from.offset += batch[batch_position(index_batching[i], vector_dim)] *
                     strides[static_cast<size_t>(batching[i])];
    to.offset = dot_offset(batch.index(), batch_strides);
    copy_box(window_shape, dtype_size(type.dtype), operand.bytes(), from, result.mutable_bytes(),
             to);
  }
  return result;
}

}  // namespace

Result<Literals> evaluate_indexing(const Node& node, const Literals& operands) {
  switch (node.op) {
    case Op::kDynamicSlice: return Literals{dynamic_slice(node, operands)};
    case Op::kDynamicUpdateSlice: return Literals{dynamic_update_slice(node, operands)};
    case Op::kGather: return Literals{gather(node, operands[0], operands[1])};
    default: return unsupported(node, "is not an indexing op");
  }
}

}  // namespace tuff::eval
