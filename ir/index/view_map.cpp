#include "ir/index/view_map.h"

namespace tuff {

namespace {

using Kind = IndexCondition::Kind;

// Adds a condition unless it always holds; false iff it never does.
bool require(const IndexContext& context, ViewSource& source, IndexCondition condition) {
  Truth t = truth(context, condition);
  if (t == Truth::kSometimes) source.conditions.push_back(std::move(condition));
  return t != Truth::kNever;
}

IndexVector broadcast_index(const Node& node, const Shape& operand_shape,
                            const IndexVector& index) {
  const auto& dims = node.attrs.as<BroadcastInDimAttrs>().broadcast_dimensions;
  IndexVector source(operand_shape.size());
  for (size_t i = 0; i < source.size(); ++i)
    if (auto d = static_cast<size_t>(dims[i]); operand_shape[i] == node.types[0].shape[d])
      source[i] = index[d];
  return source;
}

IndexVector reshape_index(IndexContext& context, const Shape& from, const Shape& to,
                          const IndexVector& index) {
  // A vector as a row: with a longer leading dimension this would be a broadcast.
  if (context.is_open() && from.size() == 1 && from[0] > 1 && to == Shape{1, from[0]})
    return {index[1]};
  return delinearize(context, linearize(index, to), from);
}

IndexVector transpose_index(const Node& node, const IndexVector& index) {
  const auto& permutation = node.attrs.as<TransposeAttrs>().permutation;
  IndexVector source(index.size());
  for (size_t i = 0; i < index.size(); ++i) source[static_cast<size_t>(permutation[i])] = index[i];
  return source;
}

IndexVector slice_index(const Node& node, const IndexVector& index) {
  const auto& starts = node.attrs.as<SliceAttrs>().start_indices;
  const auto& strides = node.attrs.as<SliceAttrs>().strides;
  IndexVector source(index.size());
  for (size_t i = 0; i < index.size(); ++i)
    source[i] = index[i] * (strides.empty() ? 1 : strides[i]) + starts[i];
  return source;
}

IndexVector reverse_index(const Node& node, const Shape& shape, const IndexVector& index) {
  IndexVector source = index;
  for (int64_t d : node.attrs.as<DimensionsAttrs>().dimensions)
    source[static_cast<size_t>(d)] =
        IndexExpr(shape[static_cast<size_t>(d)] - 1) - index[static_cast<size_t>(d)];
  return source;
}

// Inside iff 0 <= index - low, it is a multiple of interior + 1, and the quotient
// is below the size; otherwise the padding value (a scalar).
std::vector<ViewSource> pad_sources(IndexContext& context, const Node& node, const Shape& shape,
                                    const IndexVector& index) {
  const auto& attrs = node.attrs.as<PadAttrs>();
  const std::vector<int64_t> low = list_or(attrs.edge_padding_low, shape.size(), 0);
  const std::vector<int64_t> interior = list_or(attrs.interior_padding, shape.size(), 0);
  ViewSource inside;
  inside.index.resize(index.size());
  bool possible = true;
  for (size_t i = 0; i < index.size(); ++i) {
    int64_t step = interior[i] + 1;
    IndexExpr shifted = index[i] - low[i];
    inside.index[i] = context.floor_div(shifted, step);
    possible =
        possible && shape[i] > 0 && require(context, inside, {shifted, Kind::kNonNegative}) &&
        require(context, inside, {context.mod(shifted, step), Kind::kZero}) &&
        require(context, inside, {IndexExpr(shape[i] - 1) - inside.index[i], Kind::kNonNegative});
  }
  std::vector<ViewSource> sources;
  bool always = possible && inside.conditions.empty();
  if (possible) sources.push_back(std::move(inside));
  if (!always) sources.push_back({1, {}, {}, {}});
  return sources;
}

std::vector<ViewSource> concatenate_sources(IndexContext& context, const Node& node,
                                            const std::vector<Shape>& shapes,
                                            const IndexVector& index) {
  auto d = static_cast<size_t>(node.attrs.as<ConcatenateAttrs>().dimension);
  std::vector<ViewSource> sources;
  int64_t start = 0;
  for (uint32_t operand = 0; operand < shapes.size(); ++operand) {
    int64_t end = start + shapes[operand][d];
    ViewSource source{operand, index, {}, {}};
    source.index[d] = index[d] - start;
    IndexCondition begun{source.index[d], Kind::kNonNegative};
    if (truth(context, begun) == Truth::kSometimes) source.implied.push_back(begun);
    // Earlier operands had their chance, so only the upper end needs a test.
    bool possible = end > start && context.range(index[d]).high >= start &&
                    require(context, source, {IndexExpr(end - 1) - index[d], Kind::kNonNegative});
    start = end;
    if (!possible) continue;
    bool last = source.conditions.empty();
    sources.push_back(std::move(source));
    if (last) break;
  }
  if (!sources.empty()) sources.back().conditions.clear();
  return sources;
}

}  // namespace

std::vector<ViewSource> view_sources(IndexContext& context, const Node& node,
                                     const std::vector<Shape>& shapes, const IndexVector& index) {
  switch (node.op) {
    case Op::kBitcastConvert: return {{0, index, {}, {}}};
    case Op::kBroadcastInDim: return {{0, broadcast_index(node, shapes[0], index), {}, {}}};
    case Op::kReshape:
      return {{0, reshape_index(context, shapes[0], node.types[0].shape, index), {}, {}}};
    case Op::kTranspose: return {{0, transpose_index(node, index), {}, {}}};
    case Op::kSlice: return {{0, slice_index(node, index), {}, {}}};
    case Op::kReverse: return {{0, reverse_index(node, shapes[0], index), {}, {}}};
    case Op::kPad: return pad_sources(context, node, shapes[0], index);
    case Op::kConcatenate: return concatenate_sources(context, node, shapes, index);
    default: break;
  }
  TUFF_CHECK(false, std::string(op_name(node.op)) + " is not a view");
}

std::optional<IndexVector> forward_view(IndexContext& context, const Node& node,
                                        const Shape& operand_shape, const IndexVector& index) {
  const Shape& shape = node.types[0].shape;
  switch (node.op) {
    case Op::kReshape: return delinearize(context, linearize(index, operand_shape), shape);
    case Op::kTranspose: {
      IndexVector result;
      for (int64_t p : node.attrs.as<TransposeAttrs>().permutation)
        result.push_back(index[static_cast<size_t>(p)]);
      return result;
    }
    case Op::kReverse: return reverse_index(node, operand_shape, index);
    case Op::kBitcastConvert: return index;
    case Op::kBroadcastInDim: {
      if (num_elements(shape) != num_elements(operand_shape)) return std::nullopt;
      IndexVector result(shape.size());
      const auto& dims = node.attrs.as<BroadcastInDimAttrs>().broadcast_dimensions;
      for (size_t i = 0; i < dims.size(); ++i) result[static_cast<size_t>(dims[i])] = index[i];
      return result;
    }
    default: return std::nullopt;
  }
}

}  // namespace tuff
