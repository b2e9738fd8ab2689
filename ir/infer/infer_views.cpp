// Leaves and views: constant, iota and the ops that only move elements.
#include "ir/infer/infer_rules.h"
#include "ir/text/print.h"

namespace tuff::infer {

namespace {

Result<TensorType> one_result(const Node& node) {
  if (node.types.size() != 1)
    return invalid("The operation has one result, found ({}).", node.types.size());
  return node.types[0];
}

}  // namespace

Result<Types> constant(const Node& node, const Types&) {
  const Literal& value = node.attrs.as<ConstantAttrs>().value;
  if (!value.bytes() && value.size_bytes() > 0)
    return invalid("Attribute value must be a literal.");
  return Types{value.type()};
}

Result<Types> iota(const Node& node, const Types&) {
  TUFF_ASSIGN(TensorType type, one_result(node));
  TUFF_RETURN_IF_ERROR(check_one_dimension("iota_dimension",
                                           node.attrs.as<IotaAttrs>().iota_dimension, type.rank()));
  if (type.dtype == DType::kBool)
    return invalid("The operation is not defined for element type (i1).");
  return checked(type);
}

// Elements of another width gain or lose a last dimension.
Result<Types> bitcast_convert(const Node& node, const Types& operands) {
  TUFF_ASSIGN(TensorType type, one_result(node));
  TensorType from = operands[0];
  if ((from.dtype == DType::kBool) != (type.dtype == DType::kBool))
    return invalid("The bits of i1 are not those of another type.");
  int bits = std::min(dtype_bits(from.dtype), dtype_bits(type.dtype));
  if (bits < 8 && dtype_bits(from.dtype) != dtype_bits(type.dtype))
    return invalid("The bits of ({}) and ({}) do not lie alike.", dtype_name(from.dtype),
                   dtype_name(type.dtype));
  int64_t old_size = dtype_size(from.dtype), new_size = dtype_size(type.dtype);
  if (new_size < old_size) {
    from.shape.push_back(old_size / new_size);
  } else if (new_size > old_size) {
    if (from.rank() == 0 || from.shape.back() != new_size / old_size)
      return invalid("The operand's last dimension must have ({}) elements, found ({}).",
                     new_size / old_size, print_type(from));
    from.shape.pop_back();
  }
  return checked({type.dtype, from.shape});
}

Result<Types> broadcast_in_dim(const Node& node, const Types& operands) {
  TUFF_ASSIGN(TensorType type, one_result(node));
  const Ints& dims = node.attrs.as<BroadcastInDimAttrs>().broadcast_dimensions;
  TUFF_RETURN_IF_ERROR(check_size("broadcast_dimensions", dims, operands[0].rank()));
  TUFF_RETURN_IF_ERROR(check_dimensions("broadcast_dimensions", dims, type.rank()));
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t from = operands[0].shape[i], to = type.shape[static_cast<size_t>(dims[i])];
    if (from != 1 && from != to)
      return invalid(
          "Operand dimension ({}) of size ({}) cannot become result dimension ({}) of size ({}).",
          i, from, dims[i], to);
  }
  return checked({operands[0].dtype, type.shape});
}

Result<Types> reshape(const Node& node, const Types& operands) {
  TUFF_ASSIGN(TensorType type, one_result(node));
  TUFF_RETURN_IF_ERROR(checked_num_elements(type.shape));
  if (type.num_elements() != operands[0].num_elements())
    return invalid("({}) has ({}) elements, the operand ({}) has ({}).", print_type(type),
                   type.num_elements(), print_type(operands[0]), operands[0].num_elements());
  return Types{{operands[0].dtype, type.shape}};
}

Result<Types> transpose(const Node& node, const Types& operands) {
  const Ints& permutation = node.attrs.as<TransposeAttrs>().permutation;
  TUFF_RETURN_IF_ERROR(check_size("permutation", permutation, operands[0].rank()));
  TUFF_RETURN_IF_ERROR(check_dimensions("permutation", permutation, operands[0].rank()));
  TensorType type{operands[0].dtype, {}};
  for (int64_t d : permutation) type.shape.push_back(operands[0].shape[static_cast<size_t>(d)]);
  return Types{type};
}

Result<Types> slice(const Node& node, const Types& operands) {
  const TensorType& from = operands[0];
  const Ints &start = node.attrs.as<SliceAttrs>().start_indices,
             &limit = node.attrs.as<SliceAttrs>().limit_indices;
  TUFF_RETURN_IF_ERROR(check_size("start_indices", start, from.rank()));
  TUFF_RETURN_IF_ERROR(check_size("limit_indices", limit, from.rank()));
  TUFF_ASSIGN(Ints strides,
              ints_or("strides", node.attrs.as<SliceAttrs>().strides, from.rank(), 1));
  TensorType type{from.dtype, {}};
  for (size_t d = 0; d < start.size(); ++d) {
    if (start[d] < 0 || start[d] > limit[d] || limit[d] > from.shape[d])
      return invalid("[{}, {}) is no range of dimension ({}) of size ({}).", start[d], limit[d], d,
                     from.shape[d]);
    if (strides[d] < 1)
      return invalid("Stride ({}) of dimension ({}) must be at least 1.", strides[d], d);
    int64_t size = limit[d] - start[d];
    type.shape.push_back(size / strides[d] + (size % strides[d] != 0));
  }
  return Types{type};
}

Result<Types> reverse(const Node& node, const Types& operands) {
  TUFF_RETURN_IF_ERROR(check_dimensions("dimensions", node.attrs.as<DimensionsAttrs>().dimensions,
                                        operands[0].rank()));
  return Types{operands[0]};
}

Result<Types> pad(const Node& node, const Types& operands) {
  const auto& attrs = node.attrs.as<PadAttrs>();
  const TensorType& from = operands[0];
  TUFF_RETURN_IF_ERROR(check_same("The padding value", {from.dtype, {}}, operands[1]));
  TUFF_ASSIGN(Ints low, ints_or("edge_padding_low", attrs.edge_padding_low, from.rank(), 0));
  TUFF_ASSIGN(Ints high, ints_or("edge_padding_high", attrs.edge_padding_high, from.rank(), 0));
  TUFF_ASSIGN(Ints interior, ints_or("interior_padding", attrs.interior_padding, from.rank(), 0));
  constexpr int64_t kLow = -(int64_t{1} << 31);
  TUFF_RETURN_IF_ERROR(check_range("edge_padding_low", low, kLow));
  TUFF_RETURN_IF_ERROR(check_range("edge_padding_high", high, kLow));
  TUFF_RETURN_IF_ERROR(check_range("interior_padding", interior, 0));
  TUFF_RETURN_IF_ERROR(check_range("The padded shape", from.shape, 0));
  TensorType type{from.dtype, {}};
  for (size_t d = 0; d < low.size(); ++d) {
    int64_t gaps = from.shape[d] > 0 ? (from.shape[d] - 1) * interior[d] : 0;
    type.shape.push_back(low[d] + from.shape[d] + gaps + high[d]);
  }
  return checked(type);
}

Result<Types> concatenate(const Node& node, const Types& operands) {
  int64_t dimension = node.attrs.as<ConcatenateAttrs>().dimension;
  TUFF_RETURN_IF_ERROR(check_one_dimension("dimension", dimension, operands[0].rank()));
  auto d = static_cast<size_t>(dimension);
  TensorType type = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    TensorType like = type;
    if (operands[i].rank() == type.rank()) like.shape[d] = operands[i].shape[d];
    TUFF_RETURN_IF_ERROR(check_same("Every operand", like, operands[i]));
    if (__builtin_add_overflow(type.shape[d], operands[i].shape[d], &type.shape[d]))
      return invalid("The result has too many elements for 64 bits.");
  }
  return checked(type);
}

}  // namespace tuff::infer
