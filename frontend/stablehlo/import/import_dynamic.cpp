// dynamic_* operations whose shapes turn out to be known: the shape operands are
// constants, or the result's type says all there is to say.
#include <fmt/format.h>

#include "frontend/stablehlo/import/import.h"

namespace tuff::stablehlo {

namespace {

using Ints = std::vector<int64_t>;

OpResult add_like(OpContext& context, Op op, Values operands, Attrs attrs) {
  Node node;
  node.op = op;
  node.operands = std::move(operands);
  node.types = context.types;
  node.attrs = std::move(attrs);
  return context.add_checked(std::move(node));
}

Status need(OpContext& context, size_t operands) {
  TUFF_RETURN_IF_ERROR(context.expect_operands(operands));
  return context.expect_results(1);
}

// The constant integers of an operand, which the operation needs.
Result<Ints> known(OpContext& context, size_t operand) {
  auto ints = constant_ints(context.graph(), context.operands[operand]);
  if (!ints)
    return context.unsupported(
        fmt::format("Operand ({}) must be known when the model is compiled.", operand));
  return *ints;
}

OpResult dynamic_reshape(OpContext& context) {
  TUFF_RETURN_IF_ERROR(need(context, 2));
  return add_like(context, Op::kReshape, {context.operands[0]}, {});
}

OpResult dynamic_broadcast(OpContext& context) {
  TUFF_RETURN_IF_ERROR(need(context, 2));
  TUFF_ASSIGN(Ints dims, context.ints_attribute("broadcast_dimensions"));
  return add_like(context, Op::kBroadcastInDim, {context.operands[0]},
                  BroadcastInDimAttrs{std::move(dims)});
}

OpResult dynamic_iota(OpContext& context) {
  TUFF_RETURN_IF_ERROR(need(context, 1));
  return add_like(context, Op::kIota, {}, IotaAttrs{context.int_attribute("iota_dimension", -1)});
}

OpResult dynamic_pad(OpContext& context) {
  TUFF_RETURN_IF_ERROR(need(context, 5));
  PadAttrs attrs;
  TUFF_ASSIGN(attrs.edge_padding_low, known(context, 2));
  TUFF_ASSIGN(attrs.edge_padding_high, known(context, 3));
  TUFF_ASSIGN(attrs.interior_padding, known(context, 4));
  return add_like(context, Op::kPad, {context.operands[0], context.operands[1]}, std::move(attrs));
}

OpResult dynamic_gather(OpContext& context) {
  TUFF_RETURN_IF_ERROR(need(context, 3));
  TUFF_ASSIGN(Attrs attrs, import_attributes(context, Op::kGather));
  TUFF_ASSIGN(attrs.edit<GatherAttrs>().slice_sizes, known(context, 2));
  return add_like(context, Op::kGather, {context.operands[0], context.operands[1]},
                  std::move(attrs));
}

OpResult dynamic_conv(OpContext& context) {
  TUFF_RETURN_IF_ERROR(need(context, 3));
  TUFF_ASSIGN(Attrs attrs, import_attributes(context, Op::kConvolution));
  TUFF_ASSIGN(attrs.edit<ConvolutionAttrs>().padding, known(context, 2));
  return add_like(context, Op::kConvolution, {context.operands[0], context.operands[1]},
                  std::move(attrs));
}

// Constant bounds make a slice; otherwise unit strides make a dynamic_slice, whose
// sizes are the result's or the distance of the bounds.
OpResult real_dynamic_slice(OpContext& context) {
  TUFF_RETURN_IF_ERROR(need(context, 4));
  auto start = constant_ints(context.graph(), context.operands[1]);
  auto limit = constant_ints(context.graph(), context.operands[2]);
  TUFF_ASSIGN(Ints strides, known(context, 3));
  if (start && limit)
    return add_like(context, Op::kSlice, {context.operands[0]},
                    SliceAttrs{*start, *limit, std::move(strides)});
  for (int64_t stride : strides)
    if (stride != 1)
      return context.unsupported("A slice with unknown bounds must have strides of 1.");
  Shape sizes = context.types[0].shape;
  if (has_open_size(sizes)) {
    auto distance = known_distance(context.graph(), context.operands[1], context.operands[2]);
    if (!distance) return context.unsupported("The size of a slice must be known.");
    sizes = *distance;
  }
  Value bounds = context.operands[1];
  TensorType type = context.type(bounds);
  if (type.rank() != 1) return context.bad("The bounds of a slice have one dimension.");
  Values operands{context.operands[0]};
  for (int64_t i = 0; i < type.shape[0]; ++i) {
    Value one = context.add(Op::kSlice, {bounds}, {type.dtype, {1}}, SliceAttrs{{i}, {i + 1}, {1}});
    operands.push_back(context.add(Op::kReshape, {one}, {type.dtype, {}}));
  }
  return add_like(context, Op::kDynamicSlice, std::move(operands),
                  DynamicSliceAttrs{std::move(sizes)});
}

OpResult get_dimension_size(OpContext& context) {
  TUFF_RETURN_IF_ERROR(need(context, 1));
  const TensorType& type = context.type(context.operands[0]);
  int64_t dimension = context.int_attribute("dimension", -1);
  if (dimension < 0 || dimension >= type.rank() || context.types[0].rank() != 0)
    return context.bad(fmt::format("The operand has no dimension ({}).", dimension));
  Literal size(context.types[0]);
  size.set_int(0, type.shape[static_cast<size_t>(dimension)]);
  return Values{add_constant(context.graph(), std::move(size), context.loc)};
}

// A size that is the dimension's own changes nothing.
OpResult set_dimension_size(OpContext& context) {
  TUFF_RETURN_IF_ERROR(need(context, 2));
  TUFF_ASSIGN(Ints size, known(context, 1));
  const TensorType& type = context.type(context.operands[0]);
  int64_t dimension = context.int_attribute("dimension", -1);
  if (dimension < 0 || dimension >= type.rank() || size.size() != 1)
    return context.bad(fmt::format("The operand has no dimension ({}).", dimension));
  if (size[0] != type.shape[static_cast<size_t>(dimension)])
    return context.unsupported("A size other than the dimension's own makes a dynamic shape.");
  return Values{context.operands[0]};
}

}  // namespace

Handler find_dynamic_handler(std::string_view name) {
  struct Row {
    std::string_view name;
    Handler handler;
  };
  static constexpr Row kRows[] = {
      {"stablehlo.dynamic_reshape", dynamic_reshape},
      {"stablehlo.dynamic_broadcast_in_dim", dynamic_broadcast},
      {"stablehlo.dynamic_iota", dynamic_iota},
      {"stablehlo.dynamic_pad", dynamic_pad},
      {"stablehlo.dynamic_gather", dynamic_gather},
      {"stablehlo.dynamic_conv", dynamic_conv},
      {"stablehlo.real_dynamic_slice", real_dynamic_slice},
      {"stablehlo.get_dimension_size", get_dimension_size},
      {"stablehlo.set_dimension_size", set_dimension_size},
  };
  for (const Row& row : kRows)
    if (row.name == name) return row.handler;
  return nullptr;
}

}  // namespace tuff::stablehlo
