// Views: the ones that move nothing go, chains of one kind become one.
#include <algorithm>
#include <numeric>

#include "ir/passes/canonicalize/canonicalize_rules.h"

namespace tuff::canonical {

namespace {

using Ints = std::vector<int64_t>;
using Replacement = std::optional<Value>;

Replacement same_shape(const RewriteSite& site) {
  return site.operand_type(0) == site.node.types[0] ? Replacement(site.node.operands[0])
                                                    : std::nullopt;
}

Replacement reshape_of_reshape(const RewriteSite& site) {
  if (site.operand(0).op != Op::kReshape) return std::nullopt;
  return add_reshape(site, site.operand(0).operands[0], site.node.types[0].shape);
}

// Dimensions of size one may go anywhere without moving an element.
Replacement transpose_is_reshape(const RewriteSite& site) {
  Ints moved;
  for (int64_t d : site.node.attrs.as<TransposeAttrs>().permutation)
    if (site.operand_type(0).shape[at(d)] != 1) moved.push_back(d);
  if (!std::is_sorted(moved.begin(), moved.end())) return std::nullopt;
  return add_reshape(site, site.node.operands[0], site.node.types[0].shape);
}

Replacement transpose_of_transpose(const RewriteSite& site) {
  if (site.operand(0).op != Op::kTranspose) return std::nullopt;
  Value origin = site.operand(0).operands[0];
  Ints permutation;
  for (int64_t d : site.node.attrs.as<TransposeAttrs>().permutation)
    permutation.push_back(site.operand(0).attrs.as<TransposeAttrs>().permutation[at(d)]);
  return site.add(Op::kTranspose, {origin}, site.node.types[0],
                  TransposeAttrs{std::move(permutation)});
}

Ints strides_of(const Node& slice) {
  const Ints& strides = slice.attrs.as<SliceAttrs>().strides;
  return strides.empty() ? Ints(slice.types[0].shape.size(), 1) : strides;
}

Value add_slice(const RewriteSite& site, Value v, Ints start, Ints limit, Ints strides) {
  return site.add(Op::kSlice, {v}, site.node.types[0],
                  SliceAttrs{std::move(start), std::move(limit), std::move(strides)});
}

Replacement slice_of_slice(const RewriteSite& site) {
  if (site.operand(0).op != Op::kSlice) return std::nullopt;
  const Node inner = site.operand(0);
  Ints inner_strides = strides_of(inner), strides = strides_of(site.node);
  Ints start = inner.attrs.as<SliceAttrs>().start_indices, limit(start.size());
  for (size_t d = 0; d < start.size(); ++d) {
    int64_t size = site.node.types[0].shape[d];
    if (size == 0) return std::nullopt;  // its start may lie beyond the source
    start[d] += site.node.attrs.as<SliceAttrs>().start_indices[d] * inner_strides[d];
    strides[d] *= inner_strides[d];
    limit[d] = start[d] + (size - 1) * strides[d] + 1;
  }
  return add_slice(site, inner.operands[0], std::move(start), std::move(limit), std::move(strides));
}

// A slice that stays inside one operand of a concatenation is a slice of that.
Replacement slice_of_concatenate(const RewriteSite& site) {
  if (site.operand(0).op != Op::kConcatenate) return std::nullopt;
  const Node& inner = site.operand(0);
  size_t d = at(inner.attrs.as<ConcatenateAttrs>().dimension);
  Ints start = site.node.attrs.as<SliceAttrs>().start_indices,
       limit = site.node.attrs.as<SliceAttrs>().limit_indices;
  int64_t offset = 0;
  for (Value piece : inner.operands) {
    int64_t size = site.out.type(piece).shape[d];
    if (start[d] >= offset && limit[d] <= offset + size && start[d] < limit[d]) {
      start[d] -= offset;
      limit[d] -= offset;
      return add_slice(site, piece, std::move(start), std::move(limit), strides_of(site.node));
    }
    offset += size;
  }
  return std::nullopt;
}

// Reversing a dimension of size one, or none, moves nothing.
Replacement reverse_once(const RewriteSite& site) {
  Ints dims;
  for (int64_t d : site.node.attrs.as<DimensionsAttrs>().dimensions)
    if (site.node.types[0].shape[at(d)] > 1) dims.push_back(d);
  Value from = site.node.operands[0];
  if (site.operand(0).op == Op::kReverse) {
    from = site.operand(0).operands[0];
    for (int64_t d : site.operand(0).attrs.as<DimensionsAttrs>().dimensions) {
      auto it = std::find(dims.begin(), dims.end(), d);
      it == dims.end() ? void(dims.push_back(d)) : void(dims.erase(it));
    }
  }
  std::sort(dims.begin(), dims.end());
  if (dims.empty()) return from;
  if (dims == site.node.attrs.as<DimensionsAttrs>().dimensions && from == site.node.operands[0])
    return std::nullopt;
  return site.add(Op::kReverse, {from}, site.node.types[0], DimensionsAttrs{std::move(dims)});
}

// Padding by nothing is nothing; padding that only takes away is a slice.
Replacement pad_is_slice(const RewriteSite& site) {
  const auto& pad = site.node.attrs.as<PadAttrs>();
  const Shape& shape = site.operand_type(0).shape;
  const Ints low = list_or(pad.edge_padding_low, shape.size(), 0);
  const Ints high = list_or(pad.edge_padding_high, shape.size(), 0);
  const Ints interior = list_or(pad.interior_padding, shape.size(), 0);
  Ints start(shape.size()), limit(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    bool gaps = interior[d] != 0 && shape[d] > 1;
    if (low[d] > 0 || high[d] > 0 || gaps || -low[d] > shape[d] + high[d]) return std::nullopt;
    start[d] = -low[d];
    limit[d] = shape[d] + high[d];
  }
  if (site.operand_type(0) == site.node.types[0]) return site.node.operands[0];
  return add_slice(site, site.node.operands[0], std::move(start), std::move(limit),
                   Ints(shape.size(), 1));
}

Replacement concatenate_fewer(const RewriteSite& site) {
  size_t d = at(site.node.attrs.as<ConcatenateAttrs>().dimension);
  std::vector<Value> pieces;
  for (Value v : site.node.operands)
    if (site.out.type(v).shape[d] != 0) pieces.push_back(v);
  if (pieces.empty()) pieces.push_back(site.node.operands[0]);
  if (pieces.size() == 1) return pieces[0];
  if (pieces.size() == site.node.operands.size()) return std::nullopt;
  return site.add(Op::kConcatenate, std::move(pieces), site.node.types[0], site.node.attrs);
}

constexpr Rule kViewRules[] = {
    {Op::kReshape, same_shape},
    {Op::kReshape, reshape_of_reshape},
    {Op::kTranspose, transpose_is_reshape},
    {Op::kTranspose, transpose_of_transpose},
    {Op::kSlice, same_shape},
    {Op::kSlice, slice_of_slice},
    {Op::kSlice, slice_of_concatenate},
    {Op::kReverse, reverse_once},
    {Op::kPad, pad_is_slice},
    {Op::kConcatenate, concatenate_fewer},
    {Op::kBitcastConvert, same_shape},
};

}  // namespace

Values views(const RewriteSite& site) { return first_that_applies(kViewRules, site); }

}  // namespace tuff::canonical
