// Elements change places: reshapes, slices, pads, transposes and what is made of them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

// 0 is the input's own size, unless allowzero; -1 is what is left.
Items reshape(const Call& call) {
  Tensor x = call.need(0);
  Shape shape = call.ints_of("shape", 1).value_or(Ints());
  int64_t left = -1, product = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && !call.flag("allowzero")) shape[d] = x.dim(static_cast<int64_t>(d));
    if (shape[d] < -1 || (shape[d] == -1 && left >= 0))
      refuse_input(fmt::format("The shape ({}) is not possible.", words(shape)));
    if (shape[d] == -1) {
      left = static_cast<int64_t>(d);
    } else if (__builtin_mul_overflow(product, shape[d], &product)) {
      refuse_input(fmt::format("The shape ({}) is not possible.", words(shape)));
    }
  }
  if (left >= 0) shape[at(left)] = product == 0 ? 0 : x.num_elements() / product;
  return {x.reshape(std::move(shape))};
}

Items flatten(const Call& call) {
  Tensor x = call.need(0);
  int64_t axis = call.i("axis", 1);
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis > x.rank()) refuse_input(fmt::format("There is no dimension ({}).", axis));
  int64_t rows = 1, columns = 1;
  for (int64_t d = 0; d < x.rank(); ++d) (d < axis ? rows : columns) *= x.dim(d);
  return {x.reshape({rows, columns})};
}

Items squeeze(const Call& call) {
  Tensor x = call.need(0);
  std::optional<Ints> axes = call.ints_of("axes", 1);
  if (!axes) {
    axes = Ints();
    for (int64_t d = 0; d < x.rank(); ++d)
      if (x.dim(d) == 1) axes->push_back(d);
  }
  return {x.squeeze(*axes)};
}

Items unsqueeze(const Call& call) {
  return {call.need(0).unsqueeze(call.ints_of("axes", 1).value_or(Ints()))};
}

Items transpose(const Call& call) {
  Tensor x = call.need(0);
  Ints reversed = range(0, x.rank());
  std::reverse(reversed.begin(), reversed.end());
  Ints permutation = call.ints("perm", reversed);
  for (int64_t& d : permutation) d = x.axis(d);
  return {x.transpose(std::move(permutation))};
}

Items concat(const Call& call) {
  std::vector<Tensor> parts;
  for (size_t i = 0; i < call.inputs.size(); ++i) parts.push_back(call.need(i));
  if (parts.empty()) call.need(0);
  return {concatenate(parts, call.i("axis", 1))};
}

// Sizes are an attribute or an input; else as equal as can be.
Items split(const Call& call) {
  Tensor x = call.need(0);
  int64_t axis = x.axis(call.i("axis", 0)), size = x.dim(axis);
  std::optional<Ints> sizes = call.ints_of("split", 1);
  if (!sizes) {
    int64_t count = call.i("num_outputs", static_cast<int64_t>(call.wanted.size()));
    if (count < 1) refuse_input("A split needs outputs.");
    int64_t each = (size + count - 1) / count;
    sizes = Ints();
    for (int64_t i = 0; i < count; ++i)
      sizes->push_back(std::clamp<int64_t>(size - i * each, 0, each));
  }
  Items parts;
  int64_t start = 0;
  for (int64_t part : *sizes) {
    if (part < 0 || start + part > size)
      refuse_input(fmt::format("Sizes ({}) are no split of ({}).", fmt::join(*sizes, ", "), size));
    parts.emplace_back(x.slice(axis, start, start + part));
    start += part;
  }
  if (start != size)
    refuse_input(fmt::format("Sizes ({}) are no split of ({}).", fmt::join(*sizes, ", "), size));
  return parts;
}

// Python's slices: bounds from the end where negative, and cut to the dimension.
Tensor python_slice(const Tensor& x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  int64_t size = x.dim(axis);
  if (start < 0) start += size;
  if (end < 0) end += size;
  if (step > 0)
    return x.slice(axis, std::clamp<int64_t>(start, 0, size), std::clamp<int64_t>(end, 0, size),
                   std::min(step, std::max<int64_t>(size, 1)));
  start = std::clamp<int64_t>(start, -1, size - 1);
  end = std::clamp<int64_t>(end, -1, size - 1);
  return x.reverse({axis}).slice(axis, size - 1 - start, size - 1 - end,
                                 std::min(step < -size ? size : -step, std::max<int64_t>(size, 1)));
}

Items slice(const Call& call) {
  Tensor x = call.need(0);
  Ints starts = call.ints_of("starts", 1).value_or(Ints());
  Ints ends = call.ints_of("ends", 2).value_or(Ints());
  Ints axes = call.ints_of("axes", 3).value_or(range(0, static_cast<int64_t>(starts.size())));
  Ints steps = call.in(4) ? call.known_ints(4) : Ints(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    refuse_input("The numbers of starts, ends, axes and steps differ.");
  for (size_t i = 0; i < starts.size(); ++i) {
    if (steps[i] == 0) refuse_input("A step is 0.");
    x = python_slice(x, x.axis(axes[i]), starts[i], ends[i], steps[i]);
  }
  return {x};
}

Items expand(const Call& call) {
  Tensor x = call.need(0);
  return {x.broadcast_to(broadcast_shapes(x.shape(), call.known_ints(1)))};
}

Items tile(const Call& call) {
  Tensor x = call.need(0);
  Ints repeats = call.known_ints(1);
  if (static_cast<int64_t>(repeats.size()) != x.rank())
    refuse_input(fmt::format("({}) repeats are not as many as ({}) has dimensions.", repeats.size(),
                             words(x.type())));
  Shape spread, shape;
  Ints dims;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (repeats[at(d)] < 0) refuse_input("A number of repeats is negative.");
    spread.insert(spread.end(), {repeats[at(d)], x.dim(d)});
    dims.push_back(2 * d + 1);
    shape.push_back(repeats[at(d)] * x.dim(d));
  }
  return {x.broadcast(std::move(spread), std::move(dims)).reshape(std::move(shape))};
}

// Where element i of a padded dimension comes from: i counts from the first element of the input.
int64_t source_of(int64_t i, int64_t size, const std::string& mode) {
  if (mode == "edge") return std::clamp<int64_t>(i, 0, size - 1);
  int64_t period = mode == "wrap" ? size : std::max<int64_t>(2 * (size - 1), 1);
  i = (i % period + period) % period;
  return i < size ? i : period - i;
}

Tensor pad_by_index(Tensor x, const Ints& low, const Ints& high, const std::string& mode) {
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (low[at(d)] == 0 && high[at(d)] == 0) continue;
    int64_t size = x.dim(d);
    Ints sources;
    for (int64_t i = -low[at(d)]; i < size + high[at(d)]; ++i)
      sources.push_back(size > 0 ? source_of(i, size, mode) : 0);
    x = x.take(x.ints(sources), d);
  }
  return x;
}

Items pad(const Call& call) {
  Tensor x = call.need(0);
  std::string mode = call.s("mode", "constant");
  Ints pads =
      call.has("paddings") ? call.ints("paddings") : call.ints_of("pads", 1).value_or(Ints());
  Ints axes = call.in(3) ? call.known_ints(3) : range(0, x.rank());
  if (pads.size() != 2 * axes.size()) refuse_input("There are not two pads for each dimension.");
  Ints low(x.shape().size(), 0), high = low;
  for (size_t i = 0; i < axes.size(); ++i) {
    low[at(x.axis(axes[i]))] = pads[i];
    high[at(x.axis(axes[i]))] = pads[i + axes.size()];
  }
  if (mode != "constant") {
    if (mode != "reflect" && mode != "edge" && mode != "wrap")
      refuse_input(fmt::format("The attribute mode ({}) is not known.", mode));
    return {pad_by_index(x, low, high, mode)};
  }
  Tensor value = call.in(2) ? call.in(2).reshape({}) : x.scalar(call.f("value", 0));
  if (x.dtype() == DType::kBool && value.dtype() != DType::kBool) value = x.scalar(0);
  return {x.pad(std::move(low), std::move(high), value)};
}

Items depth_to_space(const Call& call) {
  Tensor x = call.need(0);
  int64_t block = call.required_i("blocksize");
  if (x.rank() != 4 || block < 1) refuse_input("The input must be of rank 4, the block positive.");
  int64_t n = x.dim(0), depth = x.dim(1) / (block * block), h = x.dim(2), w = x.dim(3);
  bool by_columns = call.s("mode", "DCR") == "CRD";
  Tensor parts = by_columns
                     ? x.reshape({n, depth, block, block, h, w}).transpose({0, 1, 4, 2, 5, 3})
                     : x.reshape({n, block, block, depth, h, w}).transpose({0, 3, 4, 1, 5, 2});
  return {parts.reshape({n, depth, h * block, w * block})};
}

Items space_to_depth(const Call& call) {
  Tensor x = call.need(0);
  int64_t block = call.required_i("blocksize");
  if (x.rank() != 4 || block < 1) refuse_input("The input must be of rank 4, the block positive.");
  int64_t n = x.dim(0), c = x.dim(1), h = x.dim(2) / block, w = x.dim(3) / block;
  Tensor parts = x.reshape({n, c, h, block, w, block});
  parts = call.s("mode", "DCR") == "CRD" ? parts.transpose({0, 1, 3, 5, 2, 4})
                                         : parts.transpose({0, 3, 5, 1, 2, 4});
  return {parts.reshape({n, c * block * block, h, w})};
}

// The middle of what is too long; zeros around what is too short.
Items center_crop_pad(const Call& call) {
  Tensor x = call.need(0);
  Ints sizes = call.known_ints(1), axes = call.ints("axes", range(0, x.rank()));
  if (sizes.size() != axes.size()) refuse_input("There is not one size for each axis.");
  Ints low(x.shape().size(), 0), high = low;
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = x.axis(axes[i]), size = x.dim(axis);
    if (sizes[i] < 0) refuse_input("A size is negative.");
    int64_t cut = std::max<int64_t>(size - sizes[i], 0),
            added = std::max<int64_t>(sizes[i] - size, 0);
    low[at(axis)] = added / 2 - cut / 2;
    high[at(axis)] = (added - added / 2) - (cut - cut / 2);
  }
  return {x.pad(std::move(low), std::move(high))};
}

// The first elements of each batch's sequence, as many as it says, in reverse.
Items reverse_sequence(const Call& call) {
  Tensor x = call.need(0);
  int64_t batch = x.axis(call.i("batch_axis", 1)), time = x.axis(call.i("time_axis", 0));
  if (batch == time) refuse_input("The attributes (batch_axis) and (time_axis) are the same axis.");
  Tensor position = x.iota(x.shape(), time);
  Tensor length = call.need(1).convert(DType::kI64).broadcast(x.shape(), {batch});
  Tensor source = (position < length).select(length - 1.0 - position, position);
  return {x.take_along(source, time)};
}

// Sums what several columns say of one pixel: each place of the block adds its own picture.
Items col2im(const Call& call) {
  Tensor x = call.need(0);
  Ints image = call.known_ints(1), block = call.known_ints(2);
  size_t spatial = image.size();
  Ints strides = call.ints("strides", Ints(spatial, 1));
  Ints dilations = call.ints("dilations", Ints(spatial, 1));
  Ints pads = call.ints("pads", Ints(2 * spatial, 0));
  if (block.size() != spatial || strides.size() != spatial || dilations.size() != spatial ||
      pads.size() != 2 * spatial || x.rank() != 3)
    refuse_input("The image, the block and the attributes have different numbers of dimensions.");
  int64_t places = std::accumulate(block.begin(), block.end(), int64_t{1}, std::multiplies<>());
  constexpr int64_t kMaxPlaces = 1024;
  if (places < 1 || places > kMaxPlaces || x.dim(1) % places != 0)
    refuse_input("The block does not fit the input's columns.");
  int64_t channels = x.dim(1) / places;
  Shape counts{x.dim(0), channels};
  for (size_t d = 0; d < spatial; ++d)
    counts.push_back((image[d] + pads[d] + pads[d + spatial] - dilations[d] * (block[d] - 1) - 1) /
                         strides[d] +
                     1);
  Tensor columns = x.reshape({x.dim(0), channels, places, x.dim(2)});
  Tensor sum;
  for (int64_t place = 0; place < places; ++place) {
    Ints low(2, 0), high(2, 0), gaps(2, 0);
    int64_t rest = place;
    Ints offsets(spatial);
    for (size_t d = spatial; d-- > 0; rest /= block[d]) offsets[d] = rest % block[d] * dilations[d];
    for (size_t d = 0; d < spatial; ++d) {
      low.push_back(offsets[d] - pads[d]);
      int64_t reach = offsets[d] + (counts[d + 2] - 1) * strides[d] + 1;
      high.push_back(image[d] + pads[d] - reach);
      gaps.push_back(strides[d] - 1);
    }
    Tensor part =
        columns.slice(2, place, place + 1).reshape(counts).pad(low, high, columns.scalar(0), gaps);
    sum = sum ? sum + part : part;
  }
  return {sum};
}

// Part of a cache, from a place that each batch says, overwritten.
Items tensor_scatter(const Call& call) {
  Tensor cache = call.need(0), update = call.need(1), from = call.in(2);
  int64_t axis = cache.axis(call.i("axis", -2)), length = update.dim(axis), size = cache.dim(axis);
  if (axis == 0) refuse_input("The axis is that of the batch.");
  Shape places{cache.dim(0), length};
  Tensor index = cache.iota(places, 1);
  if (from) index = index + from.convert(DType::kI64).broadcast(places, {0});
  if (call.s("mode", "linear") == "circular")
    index = index.binary(Op::kRemainder, index.scalar(static_cast<double>(size)));
  ScatterAttrs attrs;
  for (int64_t d = 1; d < cache.rank(); ++d)
    if (d != axis) attrs.update_window_dims.push_back(d);
  attrs.inserted_window_dims = {axis};
  attrs.input_batching_dims = {0};
  attrs.scatter_indices_batching_dims = {0};
  attrs.scatter_dims_to_operand_dims = {axis};
  attrs.index_vector_dim = 2;
  GraphPtr replace = make_region({{cache.dtype(), {}}, {cache.dtype(), {}}}, {},
                                 [](const std::vector<Tensor>& p) { return std::vector{p[1]}; });
  Emitter& emitter = cache.emitter();
  return {Tensor(emitter, emitter.add(Op::kScatter, {cache.value(), index.value(), update.value()},
                                      {cache.type()}, std::move(attrs), {replace})[0])};
}

constexpr OpRow kMovementRows[] = {
    {"CenterCropPad", center_crop_pad},
    {"Col2Im", col2im},
    {"Concat", concat},
    {"DepthToSpace", depth_to_space},
    {"Expand", expand},
    {"Flatten", flatten},
    {"Pad", pad},
    {"Reshape", reshape},
    {"ReverseSequence", reverse_sequence},
    {"Slice", slice},
    {"SpaceToDepth", space_to_depth},
    {"Split", split},
    {"Squeeze", squeeze},
    {"TensorScatter", tensor_scatter},
    {"Tile", tile},
    {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
};

}  // namespace

std::span<const OpRow> movement_ops() { return kMovementRows; }

}  // namespace tuff::onnx
