// Ops that place elements without computing: each is one or more strided box
// copies, so every element type moves as bits.
#include <algorithm>
#include <cstring>

#include "ir/evaluate/elementwise.h"
#include "ir/evaluate/ops.h"
#include "ir/evaluate/walk.h"

namespace tuff::eval {

namespace {

int64_t element_bytes(const Literal& literal) { return dtype_size(literal.type().dtype); }

// The result read from `operand` through `from`.
Literal read_through(const TensorType& type, const Literal& operand, const Box& from) {
  Literal result(type);
  copy_box(type.shape, element_bytes(operand), operand.bytes(), from, result.mutable_bytes(),
           {0, row_major_strides(type.shape)});
  return result;
}

// reshape and bitcast_convert keep the bytes: StableHLO orders the narrow parts of
// a wide element from the least significant up, which is little-endian memory.
Literal same_bytes(const TensorType& type, const Literal& operand) {
  return Literal(type,
                 std::vector<std::byte>(operand.bytes(), operand.bytes() + operand.size_bytes()));
}

Literal broadcast_in_dim(const Node& node, const Literal& operand) {
  const auto& dims = node.attrs.as<BroadcastInDimAttrs>().broadcast_dimensions;
  std::vector<int64_t> strides = row_major_strides(operand.type().shape);
  Box from{0, std::vector<int64_t>(node.types[0].shape.size(), 0)};
  for (size_t d = 0; d < dims.size(); ++d)
    if (operand.type().shape[d] != 1) from.strides[static_cast<size_t>(dims[d])] = strides[d];
  return read_through(node.types[0], operand, from);
}

Literal transpose(const Node& node, const Literal& operand) {
  const auto& permutation = node.attrs.as<TransposeAttrs>().permutation;
  std::vector<int64_t> strides = row_major_strides(operand.type().shape);
  Box from;
  for (int64_t d : permutation) from.strides.push_back(strides[static_cast<size_t>(d)]);
  return read_through(node.types[0], operand, from);
}

Literal slice(const Node& node, const Literal& operand) {
  const auto& start = node.attrs.as<SliceAttrs>().start_indices;
  std::vector<int64_t> step = list_or(node.attrs.as<SliceAttrs>().strides, start.size(), 1);
  std::vector<int64_t> strides = row_major_strides(operand.type().shape);
  Box from{dot_offset(start, strides), {}};
  for (size_t d = 0; d < start.size(); ++d) from.strides.push_back(strides[d] * step[d]);
  return read_through(node.types[0], operand, from);
}

Literal reverse(const Node& node, const Literal& operand) {
  const Shape& shape = operand.type().shape;
  Box from{0, row_major_strides(shape)};
  for (int64_t dim : node.attrs.as<DimensionsAttrs>().dimensions) {
    auto d = static_cast<size_t>(dim);
    from.offset += (shape[d] - 1) * from.strides[d];
    from.strides[d] = -from.strides[d];
  }
  return read_through(node.types[0], operand, from);
}

// StableHLO, pad: operand index i lands on low + i * (interior + 1) where that is
// inside the result; negative low or high crop.
Literal pad(const Node& node, const Literal& operand, const Literal& value) {
  const TensorType& type = node.types[0];
  size_t rank = type.shape.size();
  std::vector<int64_t> low = list_or(node.attrs.as<PadAttrs>().edge_padding_low, rank, 0);
  std::vector<int64_t> interior = list_or(node.attrs.as<PadAttrs>().interior_padding, rank, 0);
  Literal result(type);
  copy_box(type.shape, element_bytes(value), value.bytes(), {0, std::vector<int64_t>(rank, 0)},
           result.mutable_bytes(), {0, row_major_strides(type.shape)});
  std::vector<int64_t> in_strides = row_major_strides(operand.type().shape);
  std::vector<int64_t> out_strides = row_major_strides(type.shape);
  Shape kept(rank);
  Box from{0, in_strides}, to{0, std::vector<int64_t>(rank)};
  for (size_t d = 0; d < rank; ++d) {
    int64_t step = interior[d] + 1;
    int64_t first = low[d] >= 0 ? 0 : (-low[d] + step - 1) / step;
    int64_t room = type.shape[d] - low[d];  // first position past the result, from low
    int64_t past = room <= 0 ? 0 : std::min(operand.type().shape[d], (room + step - 1) / step);
    kept[d] = std::max<int64_t>(0, past - first);
    from.offset += first * in_strides[d];
    to.offset += (low[d] + first * step) * out_strides[d];
    to.strides[d] = step * out_strides[d];
  }
  copy_box(kept, element_bytes(operand), operand.bytes(), from, result.mutable_bytes(), to);
  return result;
}

Literal concatenate(const Node& node, const Literals& operands) {
  const TensorType& type = node.types[0];
  auto dim = static_cast<size_t>(node.attrs.as<ConcatenateAttrs>().dimension);
  Literal result(type);
  Box to{0, row_major_strides(type.shape)};
  for (const Literal& operand : operands) {
    const Shape& shape = operand.type().shape;
    copy_box(shape, element_bytes(operand), operand.bytes(), {0, row_major_strides(shape)},
             result.mutable_bytes(), to);
    to.offset += shape[dim] * to.strides[dim];
  }
  return result;
}

Literal iota(const Node& node) {
  const TensorType& type = node.types[0];
  auto dim = static_cast<size_t>(node.attrs.as<IotaAttrs>().iota_dimension);
  // One row along the dimension, then spread over the others.
  std::vector<int64_t> counts(static_cast<size_t>(type.shape[dim]));
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = static_cast<int64_t>(i);
  Literal row =
      convert_literal(Literal::from_ints(DType::kI64, {type.shape[dim]}, counts), type.dtype);
  Box from{0, std::vector<int64_t>(type.shape.size(), 0)};
  from.strides[dim] = 1;
  return read_through(type, row, from);
}

}  // namespace

Result<Literals> evaluate_movement(const Node& node, const Literals& operands) {
  switch (node.op) {
    case Op::kIota: return Literals{iota(node)};
    case Op::kReshape:
    case Op::kBitcastConvert: return Literals{same_bytes(node.types[0], operands[0])};
    case Op::kBroadcastInDim: return Literals{broadcast_in_dim(node, operands[0])};
    case Op::kTranspose: return Literals{transpose(node, operands[0])};
    case Op::kSlice: return Literals{slice(node, operands[0])};
    case Op::kReverse: return Literals{reverse(node, operands[0])};
    case Op::kPad: return Literals{pad(node, operands[0], operands[1])};
    case Op::kConcatenate: return Literals{concatenate(node, operands)};
    default: return unsupported(node, "is not a movement of elements");
  }
}

}  // namespace tuff::eval
