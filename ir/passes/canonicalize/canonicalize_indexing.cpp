// Indices that are known make plain slices; reductions over nothing go.
#include <algorithm>
#include <cstdlib>

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

// Places first, first + step, ... each `times` times.
struct Steps {
  int64_t first = 0, step = 0, count = 0, times = 1;
};

// Of indices into a dimension of so many elements.
std::optional<Steps> steps_of(const Literal& indices, int64_t size) {
  const int64_t n = indices.num_elements();
  auto place = [&](int64_t i) { return clamped(index_value(indices, i), size, 1); };
  if (n == 0 || size == 0) return std::nullopt;
  Steps steps{place(0), 0, 1, 1};
  while (steps.times < n && place(steps.times) == steps.first) ++steps.times;
  if (n % steps.times != 0) return std::nullopt;
  steps.count = n / steps.times;
  if (steps.count > 1) steps.step = place(steps.times) - steps.first;
  for (int64_t i = steps.times; i < n; ++i)
    if (place(i) != steps.first + i / steps.times * steps.step) return std::nullopt;
  return steps;
}

// The elements of one dimension at those places.
Value at_steps(const RewriteSite& site, Value v, size_t dim, const Steps& steps) {
  const DType dtype = site.out.type(v).dtype;
  Shape shape = site.out.type(v).shape;
  const int64_t last = steps.first + (steps.count - 1) * steps.step;
  Ints start(shape.size(), 0), limit = shape, strides(shape.size(), 1);
  start[dim] = std::min(steps.first, last);
  limit[dim] = std::max(steps.first, last) + 1;
  strides[dim] = std::max<int64_t>(std::abs(steps.step), 1);
  shape[dim] = steps.count;
  v = site.add(Op::kSlice, {v}, {dtype, shape}, SliceAttrs{start, limit, strides});
  if (steps.step < 0)
    v = site.add(Op::kReverse, {v}, {dtype, shape}, DimensionsAttrs{{static_cast<int64_t>(dim)}});
  if (steps.times == 1) return v;
  Ints dims;
  for (size_t d = 0; d < shape.size(); ++d) dims.push_back(static_cast<int64_t>(d + (d > dim)));
  Shape apart = shape;
  apart.insert(apart.begin() + static_cast<long>(dim) + 1, steps.times);
  shape[dim] *= steps.times;
  return add_reshape(site, add_broadcast(site, v, apart, std::move(dims)), shape);
}

// A gather of whole slices at places that follow each other: what takes every second one, turns
// them round or repeats each, as a resize to the nearest does.
Replacement gather_in_steps(const RewriteSite& site) {
  const auto& attrs = site.node.attrs.as<GatherAttrs>();
  const Literal* indices = constant_value(site.out, site.node.operands[1]);
  const Shape &shape = site.operand_type(0).shape, &result = site.node.types[0].shape;
  if (!indices || !attrs.operand_batching_dims.empty() || attrs.start_index_map.size() != 1 ||
      attrs.collapsed_slice_dims != attrs.start_index_map)
    return std::nullopt;
  const size_t dim = at(attrs.start_index_map[0]);
  for (size_t d = 0; d < shape.size(); ++d)
    if (d != dim && attrs.slice_sizes[d] != shape[d]) return std::nullopt;
  const std::optional<Steps> steps = steps_of(*indices, shape[dim]);
  if (!steps) return std::nullopt;
  // The dimensions of the indices take the place of the one that they are of.
  const size_t offsets = attrs.offset_dims.size(), batch = result.size() - offsets;
  Ints order;  // of the result's dimensions, those that they come from
  int64_t next_batch = static_cast<int64_t>(dim), next_offset = 0;
  Shape made(result.size());
  for (int64_t d = 0; d < site.node.types[0].rank(); ++d) {
    const bool is_offset =
        std::find(attrs.offset_dims.begin(), attrs.offset_dims.end(), d) != attrs.offset_dims.end();
    if (is_offset && next_offset == static_cast<int64_t>(dim))
      next_offset += static_cast<int64_t>(batch);
    order.push_back(is_offset ? next_offset++ : next_batch++);
    made[at(order.back())] = result[at(d)];
  }
  const Value v = add_reshape(site, at_steps(site, site.node.operands[0], dim, *steps), made);
  return site.add(Op::kTranspose, {v}, site.node.types[0], TransposeAttrs{std::move(order)});
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
    {Op::kGather, gather_in_steps},
    {Op::kReduce, reduce_of_one},
};

}  // namespace

Values indexing(const RewriteSite& site) { return first_that_applies(kIndexingRules, site); }

}  // namespace tuff::canonical
