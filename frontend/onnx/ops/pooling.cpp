// Pools: windows over spatial dimensions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

// A pool's windows and how many there are. Padding at the end may be more than the attributes say:
// ceil_mode takes windows that reach over.
struct Pool {
  SpatialWindow window;
  Ints counts;
  Ints declared_high;  // the attributes' own
};

Pool read_pool(const Call& call, const Tensor& x) {
  Pool pool{spatial_window(call, x, {}), {}, {}};
  SpatialWindow& w = pool.window;
  pool.declared_high = w.high;
  bool up = call.flag("ceil_mode");
  for (size_t d = 0; d < w.sizes.size(); ++d) {
    int64_t size = x.shape()[d + 2], reach = (w.sizes[d] - 1) * w.dilations[d] + 1;
    int64_t free = size + w.low[d] + w.high[d] - reach, stride = w.strides[d];
    if (free < 0)
      refuse_input(fmt::format("A window ({}) is larger than the input ({}).", reach, size));
    int64_t count = (up ? free + stride - 1 : free) / stride + 1;
    // A window that starts after the input is none.
    if (up && (count - 1) * stride >= size + w.low[d]) --count;
    pool.counts.push_back(count);
    w.high[d] = std::max(w.high[d], (count - 1) * stride + reach - size - w.low[d]);
  }
  return pool;
}

Tensor reduce_windows(const Tensor& x, const Pool& pool, Op op) {
  const SpatialWindow& w = pool.window;
  WindowAttrs attrs;
  auto with_ones = [](const Ints& list) {
    Ints all{1, 1};
    all.insert(all.end(), list.begin(), list.end());
    return all;
  };
  attrs.window_dimensions = with_ones(w.sizes);
  attrs.window_strides = with_ones(w.strides);
  attrs.window_dilations = with_ones(w.dilations);
  attrs.padding = {0, 0, 0, 0};
  for (size_t d = 0; d < w.sizes.size(); ++d)
    attrs.padding.insert(attrs.padding.end(), {w.low[d], w.high[d]});
  Tensor y = x.reduce_window(op, std::move(attrs));
  for (size_t d = 0; d < w.sizes.size(); ++d)
    y = y.slice(static_cast<int64_t>(d) + 2, 0, pool.counts[d]);
  return y;
}

// The places of the input's spatial dimensions as numbers: row-major, or column-major, over the
// spatial dimensions, after those of all batches and channels before.
Tensor flat_places(const Tensor& x, bool column_major) {
  int64_t spatial = 1, stride = 1;
  for (int64_t d = 2; d < x.rank(); ++d) spatial *= x.dim(d);
  Tensor place = x.iota(x.shape(), 0) * static_cast<double>(x.dim(1) * spatial) +
                 x.iota(x.shape(), 1) * static_cast<double>(spatial);
  for (int64_t i = 2; i < x.rank(); ++i) {
    int64_t d = column_major ? i : x.rank() + 1 - i;
    place = place + x.iota(x.shape(), d) * static_cast<double>(stride);
    stride *= x.dim(d);
  }
  return place;
}

// The element of each window at an offset, of a tensor padded with `outside`.
Tensor window_offset(const Tensor& padded, const Pool& pool, int64_t offset) {
  const SpatialWindow& w = pool.window;
  Tensor part = padded;
  for (size_t d = w.sizes.size(); d-- > 0; offset /= w.sizes[d]) {
    int64_t start = offset % w.sizes[d] * w.dilations[d];
    part = part.slice(static_cast<int64_t>(d) + 2, start,
                      start + (pool.counts[d] - 1) * w.strides[d] + 1, w.strides[d]);
  }
  return part;
}

// The first of the largest elements of each window, and its place.
Items max_pool_with_indices(const Call& call, const Tensor& x, const Pool& pool) {
  const SpatialWindow& w = pool.window;
  Ints low{0, 0}, high{0, 0};
  low.insert(low.end(), w.low.begin(), w.low.end());
  high.insert(high.end(), w.high.begin(), w.high.end());
  Tensor lowest = x.constant(neutral_literal(Op::kMaximum, x.dtype()));
  Tensor values = x.pad(low, high, lowest);
  Tensor places = flat_places(x, call.i("storage_order", 0) == 1).pad(low, high, -1);
  int64_t count = 1;
  for (int64_t size : w.sizes) count *= size;
  constexpr int64_t kMaxOffsets = 4096;
  if (count > kMaxOffsets) refuse_unsupported("Indices of windows this large are not supported.");
  Tensor best = window_offset(values, pool, 0), place = window_offset(places, pool, 0);
  for (int64_t k = 1; k < count; ++k) {
    Tensor value = window_offset(values, pool, k), at_value = window_offset(places, pool, k);
    Tensor better = (value > best) | ((place < 0.0) & (at_value >= 0.0));
    best = better.select(value, best);
    place = better.select(at_value, place);
  }
  return {best, place};
}

Items max_pool(const Call& call) {
  Tensor x = call.need(0);
  Pool pool = read_pool(call, x);
  if (call.wants(1)) return max_pool_with_indices(call, x, pool);
  return {reduce_windows(x, pool, Op::kMaximum)};
}

// How many elements of the input, or of what is padded by the attributes, each window has: the
// product over dimensions.
Tensor window_counts(const Tensor& x, const Pool& pool, bool with_pads) {
  const SpatialWindow& w = pool.window;
  Tensor counts = x.scalar(1);
  for (size_t d = 0; d < w.sizes.size(); ++d) {
    int64_t size = x.shape()[d + 2], first = with_pads ? -w.low[d] : 0;
    int64_t end = size + (with_pads ? pool.declared_high[d] : 0);
    std::vector<double> list;
    for (int64_t o = 0; o < pool.counts[d]; ++o) {
      int64_t inside = 0;
      for (int64_t k = 0; k < w.sizes[d]; ++k) {
        int64_t i = o * w.strides[d] - w.low[d] + k * w.dilations[d];
        inside += i >= first && i < end;
      }
      list.push_back(static_cast<double>(std::max<int64_t>(inside, 1)));
    }
    Shape shape(x.shape().size(), 1);
    shape[d + 2] = pool.counts[d];
    Tensor along = x.constant(Literal::from_doubles(x.dtype(), std::move(shape), list));
    bool same = std::all_of(list.begin(), list.end(), [&](double c) { return c == list[0]; });
    counts = counts * (same && !list.empty() ? x.scalar(list[0]) : along);
  }
  return counts;
}

Items average_pool(const Call& call) {
  Tensor x = call.need(0), wide = x.wide();
  Pool pool = read_pool(call, x);
  Tensor counts = window_counts(wide, pool, call.flag("count_include_pad"));
  return {(reduce_windows(wide, pool, Op::kAdd) / counts).convert(x.dtype())};
}

Tensor to_power(const Tensor& x, double p) {
  if (p == 1) return x.abs();
  if (p == 2) return x * x;
  return x.abs().binary(Op::kPower, x.scalar(p));
}
Tensor root(const Tensor& x, double p) {
  if (p == 1) return x;
  return p == 2 ? x.sqrt() : x.binary(Op::kPower, x.scalar(1 / p));
}

Items lp_pool(const Call& call) {
  Tensor x = call.need(0);
  auto p = static_cast<double>(call.i("p", 2));
  Pool pool = read_pool(call, x);
  return {root(reduce_windows(to_power(x.wide(), p), pool, Op::kAdd), p).convert(x.dtype())};
}

Ints spatial_dims(const Tensor& x) { return range(2, x.rank()); }

Items global_max_pool(const Call& call) {
  Tensor x = call.need(0);
  return {x.reduce(Op::kMaximum, spatial_dims(x), true)};
}
Items global_average_pool(const Call& call) {
  Tensor x = call.need(0);
  return {x.wide().mean(spatial_dims(x), true).convert(x.dtype())};
}
Items global_lp_pool(const Call& call) {
  Tensor x = call.need(0);
  auto p = static_cast<double>(call.i("p", 2));
  return {root(to_power(x.wide(), p).sum(spatial_dims(x), true), p).convert(x.dtype())};
}

// What MaxPool took, back at its places.
Items max_unpool(const Call& call) {
  Tensor x = call.need(0), indices = call.need(1);
  SpatialWindow w = spatial_window(call, x, {});
  Shape inner{x.dim(0), x.dim(1)}, outer = inner;
  for (size_t d = 0; d < w.sizes.size(); ++d)
    inner.push_back((x.shape()[d + 2] - 1) * w.strides[d] - w.low[d] - w.high[d] + w.sizes[d]);
  outer = call.in(2) ? call.known_ints(2) : inner;
  // Indices count in the shape without the output_shape's additions.
  auto flat = num_elements(inner);
  Tensor zeros = call.zeros({x.dtype(), {flat}});
  ScatterAttrs attrs;
  attrs.inserted_window_dims = attrs.scatter_dims_to_operand_dims = {0};
  attrs.index_vector_dim = 1;
  int64_t count = x.num_elements();
  GraphPtr replace = make_region({{x.dtype(), {}}, {x.dtype(), {}}}, {},
                                 [](const std::vector<Tensor>& p) { return std::vector{p[1]}; });
  Tensor list = indices.reshape({count, 1});
  Tensor filled(
      *call.emitter,
      call.emitter->add(Op::kScatter, {zeros.value(), list.value(), x.reshape({count}).value()},
                        {zeros.type()}, std::move(attrs), {replace})[0]);
  Tensor y = filled.reshape(inner);
  if (outer == inner) return {y};
  if (outer.size() != inner.size()) refuse_input("The output shape has another rank.");
  Ints high;
  for (size_t d = 0; d < outer.size(); ++d) high.push_back(outer[d] - inner[d]);
  return {y.pad(Ints(outer.size(), 0), std::move(high))};
}

constexpr OpRow kPoolingRows[] = {
    {"AveragePool", average_pool},
    {"GlobalAveragePool", global_average_pool},
    {"GlobalLpPool", global_lp_pool},
    {"GlobalMaxPool", global_max_pool},
    {"LpPool", lp_pool},
    {"MaxPool", max_pool},
    {"MaxUnpool", max_unpool},
};

}  // namespace

std::span<const OpRow> pooling_ops() { return kPoolingRows; }

}  // namespace tuff::onnx
