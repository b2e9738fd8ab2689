// Resize and Upsample: each dimension by itself, as sums of a few neighbours with weights that are
// computed here.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

struct ResizeMode {
  std::string mode, coordinates, nearest;
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

// One dimension: its sizes, the scale that coordinates go by, the part that is cropped.
struct ResizeAxis {
  int64_t in = 0, out = 0;
  double scale = 1, start = 0, end = 1;
};

// Element o of the result is the sum of weights times elements at places.
struct Taps {
  std::vector<Ints> places;                  // [tap][o]
  std::vector<std::vector<double>> weights;  // [tap][o]
  std::vector<bool> outside;                 // [o]: takes the extrapolation value
};

double original_coordinate(const ResizeMode& mode, const ResizeAxis& a, double x) {
  // The scale's own size, of which `out` is the whole part.
  double in = static_cast<double>(a.in), out = a.scale * in;
  const std::string& kind = mode.coordinates;
  if (kind == "half_pixel") return (x + 0.5) / a.scale - 0.5;
  if (kind == "pytorch_half_pixel") return out > 1 ? (x + 0.5) / a.scale - 0.5 : 0;
  if (kind == "asymmetric") return x / a.scale;
  if (kind == "align_corners") return out != 1 ? x * (in - 1) / (out - 1) : 0;
  if (kind == "half_pixel_symmetric") {
    double adjustment = static_cast<double>(a.out) / out;
    return in / 2 * (1 - adjustment) + (x + 0.5) / a.scale - 0.5;
  }
  if (kind == "tf_crop_and_resize")
    return out > 1 ? a.start * (in - 1) + x * (a.end - a.start) * (in - 1) / (out - 1)
                   : 0.5 * (a.start + a.end) * (in - 1);
  refuse_input(
      fmt::format("The attribute coordinate_transformation_mode ({}) is not known.", kind));
}

double nearest_place(const ResizeMode& mode, double x) {
  if (mode.nearest == "round_prefer_floor") return std::ceil(x - 0.5);
  if (mode.nearest == "round_prefer_ceil") return std::floor(x + 0.5);
  if (mode.nearest == "floor") return std::floor(x);
  if (mode.nearest == "ceil") return std::ceil(x);
  refuse_input(fmt::format("The attribute nearest_mode ({}) is not known.", mode.nearest));
}

double cubic_weight(double distance, double a) {
  double x = std::fabs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// Neighbours of the coordinate with their weights. With antialias, a result that is smaller than
// the input sees all elements that it stands for.
void add_neighbours(const ResizeMode& mode, const ResizeAxis& a, double x, Taps* taps) {
  bool cubic = mode.mode == "cubic";
  double shrink = mode.antialias ? std::min(a.scale, 1.0) : 1;
  double base = std::floor(x), ratio = x - base;
  auto first = static_cast<int64_t>(std::floor((cubic ? -2 : -1) / shrink)) + 1;
  auto last = (cubic ? 3 : 1) - first + (cubic ? -2 : 0);
  std::vector<double> weights;
  double sum = 0;
  for (int64_t i = first; i <= last; ++i) {
    double distance = (static_cast<double>(i) - ratio) * shrink;
    double weight =
        cubic ? cubic_weight(distance, mode.cubic_a) : std::max(0.0, 1 - std::fabs(distance));
    auto place = static_cast<int64_t>(base) + i;
    if (mode.exclude_outside && (place < 0 || place >= a.in)) weight = 0;
    weights.push_back(weight);
    sum += weight;
  }
  bool normalise = mode.antialias || mode.exclude_outside;
  taps->places.resize(weights.size());
  taps->weights.resize(weights.size());
  for (size_t t = 0; t < weights.size(); ++t) {
    int64_t place = static_cast<int64_t>(base) + first + static_cast<int64_t>(t);
    taps->places[t].push_back(std::clamp<int64_t>(place, 0, a.in - 1));
    taps->weights[t].push_back(normalise && sum != 0 ? weights[t] / sum : weights[t]);
  }
}

Taps make_taps(const ResizeMode& mode, const ResizeAxis& a) {
  Taps taps;
  for (int64_t o = 0; o < a.out; ++o) {
    double x = original_coordinate(mode, a, static_cast<double>(o));
    bool crops = mode.coordinates == "tf_crop_and_resize";
    taps.outside.push_back(crops && (x < 0 || x > static_cast<double>(a.in - 1)));
    if (mode.mode != "nearest") {
      add_neighbours(mode, a, x, &taps);
      continue;
    }
    taps.places.resize(1);
    auto place = static_cast<int64_t>(nearest_place(mode, x));
    taps.places[0].push_back(std::clamp<int64_t>(place, 0, a.in - 1));
  }
  return taps;
}

Tensor apply(const Tensor& x, const Taps& taps, int64_t axis, double extrapolation) {
  constexpr size_t kMaxGathers = 8;
  auto out = static_cast<int64_t>(taps.outside.size());
  Shape along(x.shape().size(), 1);
  along[at(axis)] = out;
  Tensor y;
  if (taps.weights.empty()) {
    y = x.take(x.ints(taps.places[0], DType::kI32), axis);
  } else if (taps.places.size() <= kMaxGathers) {
    for (size_t t = 0; t < taps.places.size(); ++t) {
      Tensor weights = x.constant(Literal::from_doubles(x.dtype(), along, taps.weights[t]));
      Tensor part = x.take(x.ints(taps.places[t], DType::kI32), axis) * weights;
      y = y ? y + part : part;
    }
  } else {
    std::vector<double> matrix(at(out * x.dim(axis)), 0);
    for (size_t t = 0; t < taps.places.size(); ++t)
      for (size_t o = 0; o < at(out); ++o)
        matrix[o * at(x.dim(axis)) + at(taps.places[t][o])] += taps.weights[t][o];
    y = weighted(x, x.constant(Literal::from_doubles(x.dtype(), {out, x.dim(axis)}, matrix)), axis);
  }
  if (std::find(taps.outside.begin(), taps.outside.end(), true) == taps.outside.end()) return y;
  Ints outside(taps.outside.begin(), taps.outside.end());
  Tensor mask = x.constant(Literal::from_ints(DType::kBool, along, outside));
  return mask.select(y.scalar(extrapolation), y);
}

// Of what is made anew: each place has a table's entry.
constexpr int64_t kMaxSize = int64_t{1} << 24;

Tensor resize_axes(const Tensor& x, const ResizeMode& mode, const std::vector<ResizeAxis>& axes) {
  bool computes = mode.mode != "nearest";
  Tensor y = computes ? x.wide() : x;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const ResizeAxis& a = axes[at(d)];
    bool stays = a.in == a.out && a.scale == 1 && mode.coordinates != "tf_crop_and_resize";
    if (stays) continue;
    if (a.in == 0) refuse_input("An empty dimension cannot be resized.");
    if (a.out > kMaxSize) refuse_input(fmt::format("The new size ({}) is too large.", a.out));
    if (a.out == 0) {
      y = y.slice(d, 0, 0);
      continue;
    }
    y = apply(y, make_taps(mode, a), d, mode.extrapolation);
  }
  bool rounds = computes && !is_float(x.dtype());
  return (rounds ? y.unary(Op::kRoundNearestEven) : y).convert(x.dtype());
}

// What a scale makes of a size, as an integer, if one holds it.
int64_t whole_size(double size) {
  constexpr double kMostExact = int64_t{1} << 53;
  if (!(size <= kMostExact)) refuse_input(fmt::format("The new size ({}) is too large.", size));
  return static_cast<int64_t>(size);
}

// Sizes by one scale for all axes that are named.
void keep_aspect(const std::string& policy, const Ints& named, std::vector<ResizeAxis>* axes) {
  if (policy == "stretch") return;
  bool larger = policy == "not_smaller";
  if (!larger && policy != "not_larger")
    refuse_input(fmt::format("The attribute keep_aspect_ratio_policy ({}) is not known.", policy));
  double scale = larger ? 0 : INFINITY;
  for (int64_t d : named) {
    double each = (*axes)[at(d)].scale;
    scale = larger ? std::max(scale, each) : std::min(scale, each);
  }
  for (int64_t d : named) {
    ResizeAxis& a = (*axes)[at(d)];
    a.scale = scale;
    a.out = whole_size(std::floor(scale * static_cast<double>(a.in) + 0.5));
  }
}

std::vector<ResizeAxis> unchanged(const Tensor& x) {
  std::vector<ResizeAxis> axes;
  for (int64_t size : x.shape()) axes.push_back({size, size});
  return axes;
}

void scale_axis(double scale, ResizeAxis* a) {
  if (!(scale > 0)) refuse_input("A scale is not positive.");
  a->scale = scale;
  a->out = whole_size(std::floor(static_cast<double>(a->in) * scale));
}

ResizeMode read_mode(const Call& call) {
  ResizeMode mode{call.s("mode", "nearest"),
                  call.s("coordinate_transformation_mode", "half_pixel"),
                  call.s("nearest_mode", "round_prefer_floor"),
                  call.f("cubic_coeff_a", -0.75),
                  call.f("extrapolation_value", 0),
                  call.flag("exclude_outside"),
                  call.flag("antialias")};
  if (mode.mode == "bilinear" || mode.mode == "trilinear") mode.mode = "linear";
  if (mode.mode != "nearest" && mode.mode != "linear" && mode.mode != "cubic")
    refuse_input(fmt::format("The attribute mode ({}) is not known.", mode.mode));
  return mode;
}

Items resize(const Call& call) {
  Tensor x = call.need(0);
  ResizeMode mode = read_mode(call);
  size_t scales_input = call.opset < 11 ? 1 : 2;
  if (call.opset < 11) mode.coordinates = "asymmetric", mode.nearest = "floor";
  std::vector<ResizeAxis> axes = unchanged(x);
  Ints named = call.ints("axes", range(0, x.rank()));
  for (int64_t& d : named) d = x.axis(d);
  auto given = [&](size_t input) { return call.in(input) && call.in(input).num_elements() > 0; };
  if (given(scales_input)) {
    std::vector<double> scales = call.known_doubles(scales_input);
    if (scales.size() != named.size()) refuse_input("There is not one scale for each axis.");
    for (size_t i = 0; i < named.size(); ++i) scale_axis(scales[i], &axes[at(named[i])]);
  } else if (given(3)) {
    Ints sizes = call.known_ints(3);
    if (sizes.size() != named.size()) refuse_input("There is not one size for each axis.");
    for (size_t i = 0; i < named.size(); ++i) {
      ResizeAxis& a = axes[at(named[i])];
      if (sizes[i] < 0) refuse_input("A size is negative.");
      a.out = sizes[i];
      a.scale = static_cast<double>(a.out) / static_cast<double>(std::max<int64_t>(a.in, 1));
    }
    keep_aspect(call.s("keep_aspect_ratio_policy", "stretch"), named, &axes);
  } else {
    refuse_input("Neither scales nor sizes are given.");
  }
  if (mode.coordinates == "tf_crop_and_resize") {
    std::vector<double> roi = call.known_doubles(1);
    if (roi.size() != 2 * named.size()) refuse_input("The input roi does not fit the axes.");
    for (double place : roi)
      if (!(std::fabs(place) <= static_cast<double>(kMaxSize)))
        refuse_input("The input roi reaches too far.");
    for (size_t i = 0; i < named.size(); ++i) {
      axes[at(named[i])].start = roi[i];
      axes[at(named[i])].end = roi[i + named.size()];
    }
  }
  return {resize_axes(x, mode, axes)};
}

Items upsample(const Call& call) {
  Tensor x = call.need(0);
  ResizeMode mode = read_mode(call);
  mode.coordinates = "asymmetric", mode.nearest = "floor";
  std::vector<double> scales = call.has("scales") ? call.floats("scales") : call.known_doubles(1);
  std::vector<ResizeAxis> axes = unchanged(x);
  if (scales.size() != axes.size()) refuse_input("There is not one scale for each axis.");
  for (size_t d = 0; d < axes.size(); ++d) scale_axis(scales[d], &axes[d]);
  return {resize_axes(x, mode, axes)};
}

constexpr OpRow kResizeRows[] = {
    {"Resize", resize},
    {"Upsample", upsample},
};

}  // namespace

std::span<const OpRow> resize_ops() { return kResizeRows; }

}  // namespace tuff::onnx
