// Indices that are known make plain slices; reductions over nothing go.
#include <algorithm>

#include "ir/passes/canonicalize/canonicalize_rules.h"
#include "ir/text/print.h"

namespace tuff::canonical {

namespace {

using Ints = std::vector<int64_t>;
using Replacement = std::optional<Value>;

// Start indices are clamped so that the window stays inside.
int64_t clamped(int64_t start, int64_t size, int64_t window) {
  return std::clamp<int64_t>(start, 0, size - window);
}

int64_t index_value(const Literal& literal, int64_t i) {
  int64_t value = literal.get_int(i);
  // A large unsigned index is beyond the end, not negative.
  return literal.type().dtype == DType::kU64 && value < 0 ? INT64_MAX : value;
}

Value add_window(const RewriteSite& site, Value v, const Ints& start, const Ints& sizes) {
  Ints limit;
  for (size_t d = 0; d < start.size(); ++d) limit.push_back(start[d] + sizes[d]);
  return site.add(Op::kSlice, {v}, {site.out.type(v).dtype, sizes},
                  SliceAttrs{start, std::move(limit), Ints(start.size(), 1)});
}

Replacement dynamic_slice_known(const RewriteSite& site) {
  const Shape& shape = site.operand_type(0).shape;
  const Ints& sizes = site.node.types[0].shape;
  Ints start;
  for (size_t d = 0; d < shape.size(); ++d) {
    const Literal* index = splat_value(site.out, site.node.operands[d + 1]);
    bool whole = sizes[d] == shape[d];
    if (!index && !whole) return std::nullopt;
    start.push_back(whole ? 0 : clamped(index_value(*index, 0), shape[d], sizes[d]));
  }
  return add_window(site, site.node.operands[0], start, sizes);
}

Replacement update_of_everything(const RewriteSite& site) {
  return site.operand_type(0) == site.operand_type(1) ? Replacement(site.node.operands[1])
                                                      : std::nullopt;
}

// A gather of one window at a known place.
Replacement gather_known(const RewriteSite& site) {
  const Literal* indices = constant_value(site.out, site.node.operands[1]);
  if (!indices) indices = splat_value(site.out, site.node.operands[1]);
  const Ints &sizes = site.node.attrs.as<GatherAttrs>().slice_sizes,
             &map = site.node.attrs.as<GatherAttrs>().start_index_map,
             &offsets = site.node.attrs.as<GatherAttrs>().offset_dims;
  const Shape &shape = site.operand_type(0).shape, &result = site.node.types[0].shape;
  if (!indices || !site.node.attrs.as<GatherAttrs>().operand_batching_dims.empty())
    return std::nullopt;
  for (int64_t d = 0; d < site.node.types[0].rank(); ++d)
    if (std::find(offsets.begin(), offsets.end(), d) == offsets.end() && result[at(d)] != 1)
      return std::nullopt;
  Ints start(shape.size(), 0);
  for (size_t i = 0; i < map.size(); ++i) {
    int64_t place = indices->num_elements() == 1 ? 0 : static_cast<int64_t>(i);
    size_t d = at(map[i]);
    start[d] = clamped(index_value(*indices, place), shape[d], sizes[d]);
  }
  return add_reshape(site, add_window(site, site.node.operands[0], start, sizes), result);
}

// Along dimensions of size one, a reduction applies its body once, to the initial
// value and the element.
Replacement reduce_of_one(const RewriteSite& site) {
  if (site.node.operands.size() != 2 || site.operand_type(0).dtype != site.node.types[0].dtype)
    return std::nullopt;
  for (int64_t d : site.node.attrs.as<DimensionsAttrs>().dimensions)
    if (site.operand_type(0).shape[at(d)] != 1) return std::nullopt;
  std::optional<Op> body = simple_body(*site.node.regions[0]);
  if (!body) return std::nullopt;
  const TensorType& type = site.node.types[0];
  Value element = add_reshape(site, site.node.operands[0], type.shape);
  Value start = site.node.operands[1];
  if (type.rank() != 0) start = add_broadcast(site, start, type.shape, {});
  return site.add(*body, {start, element}, type);
}

constexpr Rule kIndexingRules[] = {
    {Op::kDynamicSlice, dynamic_slice_known},
    {Op::kDynamicUpdateSlice, update_of_everything},
    {Op::kGather, gather_known},
    {Op::kReduce, reduce_of_one},
};

}  // namespace

Values indexing(const RewriteSite& site) { return first_that_applies(kIndexingRules, site); }

}  // namespace tuff::canonical
