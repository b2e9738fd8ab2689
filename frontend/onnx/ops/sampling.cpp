// Elements at coordinates that are data: grids, regions of interest, deformable convolutions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/onnx/ops/convolution.h"

namespace tuff::onnx {

namespace {

// Pixels of x [N, C, spatial...] at places [N, P...], one tensor a spatial dimension (i32, in
// range): [N, C, P...].
Tensor pixels(const Tensor& x, const std::vector<Tensor>& places) {
  std::vector<Tensor> vector;
  int64_t rank = places[0].rank();
  for (const Tensor& p : places) vector.push_back(p.unsqueeze({rank}));
  GatherAttrs attrs;
  attrs.offset_dims = {1};
  attrs.collapsed_slice_dims = attrs.start_index_map = range(2, x.rank());
  attrs.operand_batching_dims = attrs.start_indices_batching_dims = {0};
  attrs.index_vector_dim = rank;
  attrs.slice_sizes = Ints(x.shape().size(), 1);
  attrs.slice_sizes[1] = x.dim(1);
  return x.add(Op::kGather, {concatenate(vector, rank)}, x.type(), std::move(attrs));
}

// How coordinates outside of the picture are read.
enum class Outside { kZeros, kBorder, kReflection };

struct Sampler {
  bool align_corners = false;
  Outside outside = Outside::kZeros;
};

// Back into the picture, over its borders as if they were mirrors.
Tensor reflect(const Tensor& x, double low, double high) {
  double span = high - low;
  if (span <= 0) return x.like(0);
  Tensor distance = (x - low).abs();
  Tensor rest = distance.binary(Op::kRemainder, distance.scalar(span));
  Tensor turns = (distance / span).floor();
  Tensor odd = turns.binary(Op::kRemainder, turns.scalar(2)) >= 1.0;
  return odd.select(high - rest, rest + low);
}

Tensor inside(const Tensor& place, const Sampler& sampler, int64_t size) {
  auto last = static_cast<double>(size - 1);
  if (sampler.outside == Outside::kBorder) return place.max(0.0).min(last);
  if (sampler.outside != Outside::kReflection) return place;
  Tensor back = sampler.align_corners ? reflect(place, 0, last) : reflect(place, -0.5, last + 0.5);
  return back.max(0.0).min(last);
}

// The pixels at whole coordinates (floats); zeros outside, unless the sampler reads them inside.
Tensor whole_pixels(const Tensor& x, std::vector<Tensor> places, const Sampler& sampler) {
  Tensor valid;
  for (size_t d = 0; d < places.size(); ++d) {
    int64_t size = x.shape()[d + 2];
    auto last = static_cast<double>(size - 1);
    Tensor place = inside(places[d], sampler, size);
    Tensor within = (place >= 0.0) & (place <= last);
    valid = valid ? valid & within : within;
    places[d] = place.max(0.0).min(last).convert(DType::kI32);
  }
  Tensor values = pixels(x, places);
  return sampler.outside == Outside::kZeros ? valid.unsqueeze({1}).select(values, values.scalar(0))
                                            : values;
}

struct Neighbour {
  Tensor place, weight;
};

// Sums over all combinations of one neighbour a dimension.
Tensor sum_neighbours(const Tensor& x, const std::vector<std::vector<Neighbour>>& neighbours,
                      const Sampler& sampler) {
  size_t count = 1;
  for (const auto& list : neighbours) count *= list.size();
  Tensor sum;
  for (size_t k = 0; k < count; ++k) {
    std::vector<Tensor> places;
    Tensor weight;
    size_t rest = k;
    for (const auto& list : neighbours) {
      const Neighbour& n = list[rest % list.size()];
      rest /= list.size();
      places.push_back(n.place);
      weight = weight ? weight * n.weight : n.weight;
    }
    Tensor part = whole_pixels(x, places, sampler) * weight.unsqueeze({1});
    sum = sum ? sum + part : part;
  }
  return sum;
}

std::vector<Neighbour> linear_neighbours(const Tensor& x) {
  Tensor low = x.floor(), ratio = x - low;
  return {{low, 1.0 - ratio}, {low + 1.0, ratio}};
}

std::vector<Neighbour> cubic_neighbours(const Tensor& x) {
  constexpr double a = -0.75;
  Tensor base = x.floor(), t = x - base;
  auto near = [&](const Tensor& d) { return ((a + 2) * d - (a + 3)) * d * d + 1.0; };
  auto far = [&](const Tensor& d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {{base - 1.0, far(t + 1.0)},
          {base, near(t)},
          {base + 1.0, near(1.0 - t)},
          {base + 2.0, far(2.0 - t)}};
}

Tensor linear_samples(const Tensor& x, const std::vector<Tensor>& coordinates,
                      const Sampler& sampler) {
  std::vector<std::vector<Neighbour>> neighbours;
  for (const Tensor& c : coordinates) neighbours.push_back(linear_neighbours(c));
  return sum_neighbours(x, neighbours, sampler);
}

// The grid's last dimension has x first; dimensions of the picture have it last.
Items grid_sample(const Call& call) {
  Tensor x = call.need(0), grid = call.need(1).wide();
  auto spatial = static_cast<size_t>(x.rank() - 2);
  if (x.rank() < 3 || grid.rank() != x.rank() || grid.dim(-1) != x.rank() - 2)
    refuse_input(
        fmt::format("The grid ({}) does not fit ({}).", words(grid.type()), words(x.type())));
  std::string mode = call.s("mode", "linear"), padding = call.s("padding_mode", "zeros");
  Sampler sampler{call.flag("align_corners"), padding == "border"       ? Outside::kBorder
                                              : padding == "reflection" ? Outside::kReflection
                                                                        : Outside::kZeros};
  Tensor from = x.wide();
  std::vector<Tensor> coordinates(spatial);
  for (size_t d = 0; d < spatial; ++d) {
    auto k = static_cast<int64_t>(spatial - 1 - d);
    Tensor g = grid.slice(-1, k, k + 1).squeeze({-1});
    auto size = static_cast<double>(x.shape()[d + 2]);
    coordinates[d] =
        sampler.align_corners ? (g + 1.0) / 2.0 * (size - 1) : ((g + 1.0) * size - 1.0) / 2.0;
    if (mode != "cubic" && mode != "bicubic")
      coordinates[d] = inside(coordinates[d], sampler, x.shape()[d + 2]);
  }
  Tensor y;
  if (mode == "nearest") {
    for (Tensor& c : coordinates) c = c.unary(Op::kRoundNearestEven);
    y = whole_pixels(from, coordinates, sampler);
  } else if (mode == "linear" || mode == "bilinear") {
    y = linear_samples(from, coordinates, sampler);
  } else if (mode == "cubic" || mode == "bicubic") {
    std::vector<std::vector<Neighbour>> neighbours;
    for (const Tensor& c : coordinates) neighbours.push_back(cubic_neighbours(c));
    y = sum_neighbours(from, neighbours, sampler);
  } else {
    refuse_input(fmt::format("The attribute mode ({}) is not known.", mode));
  }
  return {y.convert(x.dtype())};
}

// Coordinates from -1 to 1 of each pixel of a picture, through the batch's matrix.
Items affine_grid(const Call& call) {
  Tensor theta = call.need(0), wide = theta.wide();
  Ints size = call.known_ints(1);
  auto spatial = static_cast<int64_t>(size.size()) - 2;
  if (spatial < 2 || theta.rank() != 3 || theta.dim(1) != spatial || theta.dim(2) != spatial + 1)
    refuse_input("The matrices do not fit the size.");
  Shape shape(size.begin() + 2, size.end()), vector = shape;
  vector.push_back(1);
  std::vector<Tensor> parts;
  for (int64_t k = 0; k < spatial; ++k) {
    int64_t d = spatial - 1 - k;
    auto n = static_cast<double>(shape[at(d)]);
    Tensor i = wide.iota(vector, d, wide.dtype());
    parts.push_back(call.flag("align_corners")
                        ? (shape[at(d)] > 1 ? i * (2 / (n - 1)) - 1.0 : i - 1.0)
                        : (i * 2.0 + 1.0) / n - 1.0);
  }
  parts.push_back(parts[0].like(1));
  Tensor points = concatenate(parts, spatial).reshape({num_elements(shape), spatial + 1});
  Tensor grid = dot(wide, points, {{}, {}, {2}, {1}, {}}).transpose({0, 2, 1});
  Shape result{theta.dim(0)};
  result.insert(result.end(), shape.begin(), shape.end());
  result.push_back(spatial);
  return {grid.reshape(std::move(result)).convert(theta.dtype())};
}

// Bins of regions, each the mean or the largest of some points between pixels.
Items roi_align(const Call& call) {
  Tensor x = call.need(0), rois = call.need(1).wide(), batch = call.need(2);
  std::string mode = call.s("mode", "avg");
  int64_t rows = call.i("output_height", 1), columns = call.i("output_width", 1);
  int64_t samples = call.i("sampling_ratio", 0);
  double scale = call.f("spatial_scale", 1);
  bool half_pixel =
      call.opset >= 16 && call.s("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  if (samples <= 0)
    refuse_unsupported(
        "A sampling_ratio of 0 makes the number of samples depend on the data; give "
        "a number.");
  if (x.rank() != 4 || rois.rank() != 2)
    refuse_input("The input must be of rank 4, rois of rank 2.");
  int64_t count = rois.dim(0);
  // Coordinates of all points of a dimension: [rois, bins * samples].
  auto points = [&](int64_t first, int64_t bins) {
    Tensor start = rois.slice(1, first, first + 1) * scale,
           end = rois.slice(1, first + 2, first + 3) * scale;
    if (half_pixel) start = start - 0.5, end = end - 0.5;
    Tensor size = end - start;
    if (!half_pixel) size = size.max(1.0);
    Tensor i = rois.iota({1, bins * samples}, 1, rois.dtype());
    return start + (i + 0.5) * (size / static_cast<double>(bins * samples));
  };
  Tensor ys = points(1, rows), xs = points(0, columns);
  Shape grid{count, rows * samples, columns * samples};
  auto valid = [](const Tensor& c, int64_t size) {
    return (c >= -1.0) & (c <= static_cast<double>(size));
  };
  auto kept = [](const Tensor& c, int64_t size) {
    return c.max(0.0).min(static_cast<double>(size - 1));
  };
  Tensor within = valid(ys, x.dim(2)).unsqueeze({2}) & valid(xs, x.dim(3)).unsqueeze({1});
  Tensor picture = x.wide().take(batch, 0);
  Tensor y_places = kept(ys, x.dim(2)).unsqueeze({2}).broadcast_to(grid);
  Tensor x_places = kept(xs, x.dim(3)).unsqueeze({1}).broadcast_to(grid);
  Shape split{count, x.dim(1), rows, samples, columns, samples};
  if (mode != "max" && mode != "avg")
    refuse_input(fmt::format("The attribute mode ({}) is not known.", mode));
  Tensor y;
  if (mode == "avg") {
    Tensor values = linear_samples(picture, {y_places, x_places}, {false, Outside::kBorder});
    values = within.unsqueeze({1}).select(values, values.scalar(0));
    y = values.reshape(split).mean({3, 5});
  } else {
    // The largest of the weighted neighbours, not of the interpolated points.
    std::vector<Neighbour> rows_of = linear_neighbours(y_places),
                           columns_of = linear_neighbours(x_places);
    for (const Neighbour& r : rows_of)
      for (const Neighbour& c : columns_of) {
        Tensor part = whole_pixels(picture, {r.place, c.place}, {false, Outside::kBorder}) *
                      (r.weight * c.weight).unsqueeze({1});
        part = within.unsqueeze({1}).select(part, part.scalar(0));
        Tensor top = part.reshape(split).reduce(Op::kMaximum, {3, 5});
        y = y ? y.max(top) : top;
      }
  }
  return {y.convert(x.dtype())};
}

// A convolution whose window's places are moved by data: the samples as columns, then a product.
Items deform_conv(const Call& call) {
  Tensor x = call.need(0), w = call.need(1), offset = call.need(2).wide(), mask = call.in(4);
  if (x.rank() != 4 || w.rank() != 4)
    refuse_unsupported("Only two spatial dimensions are supported.");
  SpatialWindow window = spatial_window(call, x, Ints(w.shape().begin() + 2, w.shape().end()));
  int64_t groups = call.i("group", 1), offset_groups = call.i("offset_group", 1);
  int64_t batch = x.dim(0), channels = x.dim(1), places = w.dim(2) * w.dim(3);
  int64_t rows = offset.dim(2), columns = offset.dim(3);
  if (groups < 1 || offset_groups < 1 || channels % offset_groups != 0 || w.dim(0) % groups != 0 ||
      w.dim(1) * groups != channels || offset.dim(1) != offset_groups * places * 2)
    refuse_input("Weights, offsets and groups do not fit the input.");
  Shape points{batch, offset_groups, places, 2, rows, columns};
  Tensor moved = offset.reshape(points);
  Tensor place = moved.iota({1, 1, places, 1, 1}, 2, DType::kI64);
  auto coordinate = [&](int64_t d) {
    Tensor k = d == 0 ? place / static_cast<double>(w.dim(3))
                      : place.binary(Op::kRemainder, place.scalar(static_cast<double>(w.dim(3))));
    Tensor o = moved.iota({1, 1, 1, rows, columns}, 3 + d, moved.dtype());
    Tensor base =
        o * static_cast<double>(window.strides[at(d)]) - static_cast<double>(window.low[at(d)]);
    Tensor start = base + k.convert(moved.dtype()) * static_cast<double>(window.dilations[at(d)]);
    Tensor by = moved.slice(3, d, d + 1).squeeze({3});
    return (start + by).reshape({batch * offset_groups, places, rows, columns});
  };
  Tensor from =
      x.wide().reshape({batch * offset_groups, channels / offset_groups, x.dim(2), x.dim(3)});
  Tensor samples = linear_samples(from, {coordinate(0), coordinate(1)}, {});
  if (mask)
    samples = samples * mask.wide().reshape({batch * offset_groups, 1, places, rows, columns});
  Tensor grouped = samples.reshape({batch, groups, w.dim(1) * places, rows * columns});
  Tensor kernel = w.wide().reshape({groups, w.dim(0) / groups, w.dim(1) * places});
  Tensor y = dot(kernel, grouped, {{0}, {1}, {2}, {2}, {}});  // [groups, M/g, N, P]
  y = y.transpose({2, 0, 1, 3}).reshape({batch, w.dim(0), rows, columns}).convert(x.dtype());
  return {with_bias(y, call.in(3))};
}

constexpr OpRow kSamplingRows[] = {
    {"AffineGrid", affine_grid},
    {"DeformConv", deform_conv, "Two spatial dimensions."},
    {"GridSample", grid_sample},
    {"RoiAlign", roi_align, "A sampling_ratio above 0."},
};

}  // namespace

std::span<const OpRow> sampling_ops() { return kSamplingRows; }

}  // namespace tuff::onnx
