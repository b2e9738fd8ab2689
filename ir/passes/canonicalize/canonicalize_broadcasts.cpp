// Broadcasts: one of them over the smallest value, splats over a scalar constant.
#include <algorithm>

#include "ir/passes/canonicalize/canonicalize_rules.h"

namespace tuff::canonical {

namespace {

using Ints = std::vector<int64_t>;
using Replacement = std::optional<Value>;

const Ints& dims_of(const Node& broadcast) {
  return broadcast.attrs.as<BroadcastInDimAttrs>().broadcast_dimensions;
}

// A dense constant of equal elements is one element, spread.
Values splat_constant(const RewriteSite& site) {
  if (site.node.op != Op::kConstant || site.node.types[0].rank() == 0) return std::nullopt;
  const auto& literal = site.node.attrs.as<ConstantAttrs>().value;
  if (!literal.is_splat()) return std::nullopt;
  return one(add_broadcast(site, site.constant(scalar_of(literal)), site.node.types[0].shape, {}));
}

// Adding dimensions of size one moves nothing.
Replacement broadcast_is_reshape(const RewriteSite& site) {
  const Ints& dims = dims_of(site.node);
  bool grows = site.operand_type(0).num_elements() != site.node.types[0].num_elements();
  for (size_t i = 0; i < dims.size(); ++i)
    grows |= site.operand_type(0).shape[i] != site.node.types[0].shape[at(dims[i])];
  // A scalar stays a broadcast, so that splats are found in one form.
  if (grows || dims.empty() || !std::is_sorted(dims.begin(), dims.end())) return std::nullopt;
  return add_reshape(site, site.node.operands[0], site.node.types[0].shape);
}

Replacement broadcast_of_broadcast(const RewriteSite& site) {
  if (site.operand(0).op != Op::kBroadcastInDim) return std::nullopt;
  Value origin = site.operand(0).operands[0];
  Ints dims;
  for (int64_t d : dims_of(site.operand(0))) dims.push_back(dims_of(site.node)[at(d)]);
  return add_broadcast(site, origin, site.node.types[0].shape, std::move(dims));
}

// Where `to` is `from` with dimensions of size one added: the new place of each
// dimension of `from`.
std::optional<Ints> places_in(const Shape& from, const Shape& to) {
  Ints places;
  size_t next = 0;
  for (size_t d = 0; d < to.size(); ++d) {
    if (next < from.size() && from[next] == to[d]) {
      places.push_back(static_cast<int64_t>(d));
      ++next;
    } else if (to[d] != 1) {
      return std::nullopt;
    }
  }
  if (next != from.size()) return std::nullopt;
  return places;
}

// The dimensions that the reshape added need not exist: the broadcast adds them.
Replacement broadcast_of_reshape(const RewriteSite& site) {
  if (site.operand(0).op != Op::kReshape) return std::nullopt;
  Value origin = site.operand(0).operands[0];
  std::optional<Ints> places = places_in(site.out.type(origin).shape, site.operand_type(0).shape);
  if (!places) return std::nullopt;
  for (int64_t& d : *places) d = dims_of(site.node)[at(d)];
  return add_broadcast(site, origin, site.node.types[0].shape, std::move(*places));
}

Replacement transpose_of_broadcast(const RewriteSite& site) {
  if (site.operand(0).op != Op::kBroadcastInDim) return std::nullopt;
  Value origin = site.operand(0).operands[0];
  const Ints& permutation = site.node.attrs.as<TransposeAttrs>().permutation;
  Ints dims;
  for (int64_t d : dims_of(site.operand(0)))
    dims.push_back(std::find(permutation.begin(), permutation.end(), d) - permutation.begin());
  return add_broadcast(site, origin, site.node.types[0].shape, std::move(dims));
}

// A view of a splat is the splat in another shape.
Replacement view_of_splat(const RewriteSite& site) {
  const Node& inner = site.operand(0);
  if (inner.op != Op::kBroadcastInDim || site.out.type(inner.operands[0]).rank() != 0)
    return std::nullopt;
  return add_broadcast(site, inner.operands[0], site.node.types[0].shape, {});
}

// A scalar reshaped is a scalar spread.
Replacement reshape_of_scalar(const RewriteSite& site) {
  if (site.operand_type(0).rank() != 0 || site.node.types[0].rank() == 0) return std::nullopt;
  return add_broadcast(site, site.node.operands[0], site.node.types[0].shape, {});
}

// A slice along the dimensions that a broadcast made only makes them shorter.
Replacement slice_of_broadcast(const RewriteSite& site) {
  const Node& inner = site.operand(0);
  if (inner.op != Op::kBroadcastInDim) return std::nullopt;
  const Shape &from = site.out.type(inner.operands[0]).shape, &to = site.node.types[0].shape;
  const Ints& dims = dims_of(inner);
  for (size_t i = 0; i < dims.size(); ++i) {
    bool whole = to[at(dims[i])] == site.operand_type(0).shape[at(dims[i])];
    if (!whole && from[i] != 1) return std::nullopt;
  }
  return add_broadcast(site, inner.operands[0], to, dims);
}

Replacement identity(const RewriteSite& site) {
  const Ints& dims = dims_of(site.node);
  bool ordered = std::is_sorted(dims.begin(), dims.end());
  return ordered && site.operand_type(0) == site.node.types[0] ? Replacement(site.node.operands[0])
                                                               : std::nullopt;
}

constexpr Rule kBroadcastRules[] = {
    {Op::kBroadcastInDim, identity},
    {Op::kBroadcastInDim, broadcast_of_broadcast},
    {Op::kBroadcastInDim, broadcast_of_reshape},
    {Op::kBroadcastInDim, broadcast_is_reshape},
    {Op::kReshape, view_of_splat},
    {Op::kReshape, reshape_of_scalar},
    {Op::kTranspose, transpose_of_broadcast},
    {Op::kReverse, view_of_splat},
    {Op::kSlice, slice_of_broadcast},
};

}  // namespace

Values broadcasts(const RewriteSite& site) {
  if (Values values = splat_constant(site)) return values;
  return first_that_applies(kBroadcastRules, site);
}

}  // namespace tuff::canonical
