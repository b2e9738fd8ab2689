#include "ir/spmd/indexed.h"

#include "ir/rewrite.h"

namespace tuff::spmd {

namespace {

bool is_index(DType dtype) {
  return dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kU32 ||
         dtype == DType::kU64;
}

bool has(const std::vector<int64_t>& list, int64_t value) {
  for (int64_t entry : list)
    if (entry == value) return true;
  return false;
}

Value scalar(Graph& graph, DType dtype, int64_t value, const std::string& loc) {
  return add_constant(graph, Literal::from_ints(dtype, {}, {value}), loc);
}

Value spread_out(Graph& graph, Value value, const TensorType& type, const std::string& loc) {
  return add_op(graph, Op::kBroadcastInDim, {value}, type, BroadcastInDimAttrs{}, loc);
}

}  // namespace

std::optional<size_t> indexed_dimension(const Graph& whole, const Node& node) {
  bool gathers = node.op == Op::kGather;
  if (!gathers && (node.op != Op::kScatter || node.operands.size() != 3)) return std::nullopt;
  if (!is_index(whole.type(node.operands[1]).dtype)) return std::nullopt;
  const std::vector<int64_t>& indexed =
      gathers ? node.attrs.as<GatherAttrs>().start_index_map
              : node.attrs.as<ScatterAttrs>().scatter_dims_to_operand_dims;
  const std::vector<int64_t>& single = gathers ? node.attrs.as<GatherAttrs>().collapsed_slice_dims
                                               : node.attrs.as<ScatterAttrs>().inserted_window_dims;
  if (indexed.size() != 1 || !has(single, indexed[0])) return std::nullopt;
  return static_cast<size_t>(indexed[0]);
}

Value indices_in_part(PartBuilder& builder, Graph& part, Value indices, int64_t extent, bool clamps,
                      const std::vector<int64_t>& over, const std::string& loc) {
  const TensorType type = part.type(indices);
  if (clamps)
    indices = add_op(
        part, Op::kClamp,
        {scalar(part, type.dtype, 0, loc), indices, scalar(part, type.dtype, extent - 1, loc)},
        type, {}, loc);
  Value start = builder.part_start(over, extent / builder.num_parts(over), loc);
  start = add_op(part, Op::kConvert, {start}, {type.dtype, {}}, {}, loc);
  return add_op(part, Op::kSubtract, {indices, spread_out(part, start, type, loc)}, type, {}, loc);
}

// Unsigned indices of parts before wrap around, which is outside as well.
Value own_elements(Graph& part, const Node& gather, Value gathered, Value indices,
                   int64_t part_extent) {
  const std::string& loc = gather.loc;
  const TensorType index = part.type(indices), result = part.type(gathered);
  TensorType flags{DType::kBool, index.shape};
  auto compared = [&](int64_t limit, ComparisonDirection direction) {
    Value bound = spread_out(part, scalar(part, index.dtype, limit, loc), index, loc);
    return add_op(part, Op::kCompare, {indices, bound}, flags, CompareAttrs{direction}, loc);
  };
  Value own = add_op(
      part, Op::kAnd,
      {compared(0, ComparisonDirection::kGe), compared(part_extent, ComparisonDirection::kLt)},
      flags, {}, loc);
  BroadcastInDimAttrs over_offsets;
  TensorType batch{DType::kBool, {}}, mask{DType::kBool, result.shape};
  for (int64_t r = 0; r < result.rank(); ++r)
    if (!has(gather.attrs.as<GatherAttrs>().offset_dims, r)) {
      over_offsets.broadcast_dimensions.push_back(r);
      batch.shape.push_back(result.shape[static_cast<size_t>(r)]);
    }
  own = add_op(part, Op::kReshape, {own}, batch, {}, loc);
  own = add_op(part, Op::kBroadcastInDim, {own}, mask, std::move(over_offsets), loc);
  Value zero =
      spread_out(part, add_constant(part, Literal(TensorType{result.dtype, {}}), loc), result, loc);
  return add_op(part, Op::kSelect, {own, gathered, zero}, result, {}, loc);
}

}  // namespace tuff::spmd
