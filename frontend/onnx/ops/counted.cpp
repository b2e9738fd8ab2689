// Operators whose results are as long as the data says: a buffer of the largest length, and a
// count of what of it is meant (Bound).
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

Item bounded(const Tensor& tensor, int64_t dim, const Tensor& count) {
  Item item(tensor);
  item.bound = Bound{dim, count};
  return item;
}

GraphPtr replacing(DType dtype) {
  return make_region({{dtype, {}}, {dtype, {}}}, {},
                     [](const std::vector<Tensor>& p) { return std::vector<Tensor>{p[1]}; });
}

// The vector with updates at places; those outside of it go nowhere.
Tensor scattered(const Tensor& into, const Tensor& places, const Tensor& updates, GraphPtr how) {
  ScatterAttrs attrs;
  attrs.inserted_window_dims = attrs.scatter_dims_to_operand_dims = {0};
  attrs.index_vector_dim = 1;
  Emitter& emitter = into.emitter();
  std::vector<Value> operands{into.value(), places.unsqueeze({1}).value(), updates.value()};
  return {emitter, emitter.add(Op::kScatter, operands, {into.type()}, std::move(attrs), {how})[0]};
}

// Sums of a vector up to each element.
Tensor running_sum(const Tensor& x) {
  WindowAttrs window;
  window.window_dimensions = {x.dim(0)};
  window.padding = {x.dim(0) - 1, 0};
  return x.reduce_window(Op::kAdd, std::move(window));
}

// The places where a vector of booleans holds, in order, and how many there are.
struct Places {
  Tensor list;   // i32, as long as the mask; zeros after the last
  Tensor count;  // i64
};
Places places_of(const Tensor& mask) {
  int64_t size = mask.dim(0);
  Tensor ones = mask.convert(DType::kI32), place = mask.iota({size}, 0, DType::kI32);
  Tensor before = running_sum(ones) - 1.0;
  Tensor target = mask.select(before, before.scalar(static_cast<double>(size)));
  Tensor list = scattered(ones.like(0), target, place, replacing(DType::kI32));
  return {list, ones.sum({0}).convert(DType::kI64)};
}

Items non_zero(const Call& call) {
  Tensor x = call.need(0);
  int64_t size = x.num_elements(), rank = std::max<int64_t>(x.rank(), 1);
  if (size == 0) return {call.zeros({DType::kI64, {rank, 0}})};
  Tensor flat = x.reshape({size});
  Places places = places_of(not_equal(flat, flat.scalar(0)));
  std::vector<Tensor> rows;
  int64_t stride = size;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t length = x.rank() == 0 ? 1 : x.dim(d);
    stride /= length;
    Tensor index = places.list / static_cast<double>(stride);
    if (d > 0) index = index.binary(Op::kRemainder, index.scalar(static_cast<double>(length)));
    rows.push_back(index.convert(DType::kI64).unsqueeze({0}));
  }
  return {bounded(concatenate(rows, 0), 1, places.count)};
}

Items compress(const Call& call) {
  Tensor x = call.need(0), condition = call.need(1);
  int64_t axis = 0;
  if (call.has("axis"))
    axis = x.axis(call.i("axis", 0));
  else
    x = x.reshape({x.num_elements()});
  if (condition.rank() != 1 || condition.dim(0) > x.dim(axis))
    refuse_input("The condition is longer than the data.");
  if (auto known = condition.known()) {
    Ints list;
    for (int64_t i = 0; i < known->num_elements(); ++i)
      if (known->get_int(i)) list.push_back(i);
    return {x.take(x.ints(list), axis)};
  }
  if (condition.dim(0) == 0) return {x.slice(axis, 0, 0)};
  Places places = places_of(condition);
  return {bounded(x.take(places.list, axis), axis, places.count)};
}

// --- Unique

// Vectors sorted by the first, equal elements in their order.
std::vector<Tensor> sort_by(const std::vector<Tensor>& vectors) {
  Emitter& emitter = vectors[0].emitter();
  std::vector<TensorType> scalars, types;
  std::vector<Value> values;
  for (const Tensor& t : vectors) {
    scalars.insert(scalars.end(), 2, {t.dtype(), {}});
    types.push_back(t.type());
    values.push_back(t.value());
  }
  GraphPtr before = make_region(
      scalars, {}, [](const std::vector<Tensor>& p) { return std::vector<Tensor>{p[0] < p[1]}; });
  std::vector<Value> results = emitter.add(Op::kSort, values, types, SortAttrs{0, true}, {before});
  std::vector<Tensor> sorted;
  for (Value v : results) sorted.emplace_back(emitter, v);
  return sorted;
}

// Numbers that compare as rows do: how many rows are less.
Tensor row_ranks(const Tensor& rows) {
  constexpr int64_t kMaxWork = int64_t{1} << 26;
  int64_t n = rows.dim(0), columns = rows.dim(1);
  if (n * n * std::max<int64_t>(columns, 1) > kMaxWork)
    refuse_unsupported("Unique rows of a tensor this large are not supported.");
  Shape pairs{n, n, columns};
  Tensor a = rows.broadcast(pairs, {0, 2}), b = rows.broadcast(pairs, {1, 2});
  Tensor column = rows.iota(pairs, 2, DType::kI32);
  Tensor first = not_equal(a, b)
                     .select(column, column.scalar(static_cast<double>(columns)))
                     .reduce(Op::kMinimum, {2}, true);
  Tensor greater = (equal(column, first) & (b < a)).reduce(Op::kOr, {2});
  return greater.convert(DType::kI32).sum({1});
}

Items unique(const Call& call) {
  Tensor x = call.need(0);
  bool sorted = call.flag("sorted", true), by_axis = call.has("axis");
  int64_t axis = by_axis ? x.axis(call.i("axis", 0)) : 0;
  if (!by_axis) x = x.reshape({x.num_elements()});
  int64_t n = x.dim(axis);
  if (x.num_elements() == 0) refuse_unsupported("Unique elements of nothing are not supported.");
  Tensor keys = x;
  if (by_axis) {
    Ints order = range(0, x.rank());
    order.erase(order.begin() + axis), order.insert(order.begin(), axis);
    keys = row_ranks(x.transpose(order).reshape({n, x.num_elements() / n}));
  }
  Tensor place = x.iota({n}, 0, DType::kI32);
  std::vector<Tensor> in_order = sort_by({keys, place});
  // Where a new group of equal ones begins.
  Tensor begins =
      n == 1 ? equal(place, place)
             : concatenate({equal(place.slice(0, 0, 1), place.slice(0, 0, 1)),
                            not_equal(in_order[0].slice(0, 1, n), in_order[0].slice(0, 0, n - 1))},
                           0);
  Tensor group = running_sum(begins.convert(DType::kI32)) - 1.0;
  Tensor count = begins.convert(DType::kI32).sum({0});
  Tensor end = place.scalar(static_cast<double>(n));
  Tensor target = begins.select(group, end);
  // The first place of each group; n where there is no group.
  Tensor firsts = scattered(end.broadcast_to({n}), target, in_order[1], replacing(DType::kI32));
  Tensor counts =
      scattered(place.like(0), group, place.like(1), scalar_region(Op::kAdd, DType::kI32));
  Tensor inverse = scattered(place.like(0), in_order[1], group, replacing(DType::kI32));
  if (!sorted) {  // groups in the order of their first places
    std::vector<Tensor> reordered = sort_by({firsts, place, counts});
    Tensor rank = scattered(place.like(0), reordered[1], place, replacing(DType::kI32));
    firsts = reordered[0], counts = reordered[2], inverse = rank.take(inverse, 0);
  }
  Tensor length = count.convert(DType::kI64);
  Tensor safe = firsts.min(static_cast<double>(n - 1));
  return {bounded(x.take(safe, axis), axis, length),
          bounded(firsts.convert(DType::kI64), 0, length), inverse.convert(DType::kI64),
          bounded(counts.convert(DType::kI64), 0, length)};
}

// --- NonMaxSuppression

// y1, x1, y2, x2 of boxes, each [batch, boxes].
struct Corners {
  Tensor y1, x1, y2, x2;
  Tensor area() const { return (y2 - y1) * (x2 - x1); }
};
Corners corners_of(const Tensor& boxes, bool by_centre) {
  auto part = [&](int64_t i) { return boxes.slice(2, i, i + 1).squeeze({2}); };
  Tensor a = part(0), b = part(1), c = part(2), d = part(3);
  if (by_centre) return {b - d / 2.0, a - c / 2.0, b + d / 2.0, a + c / 2.0};
  return {a.min(c), b.min(d), a.max(c), b.max(d)};
}

// The best box that is left is chosen, what overlaps it goes, as often as boxes are wanted.
Items non_max_suppression(const Call& call) {
  Tensor boxes = call.need(0).wide(), scores = call.need(1).wide();
  if (boxes.rank() != 3 || boxes.dim(2) != 4 || scores.rank() != 3 || scores.dim(2) != boxes.dim(1))
    refuse_input(fmt::format("Boxes ({}) and scores ({}) do not fit.", words(boxes.type()),
                             words(scores.type())));
  int64_t batch = scores.dim(0), classes = scores.dim(1), count = scores.dim(2);
  int64_t wanted = std::min(call.in(2) ? call.known_int(2) : 0, count);
  if (wanted <= 0 || scores.num_elements() == 0) return {call.zeros({DType::kI64, {0, 3}})};
  Tensor overlap = call.in(3) ? call.in(3).reshape({}) : boxes.scalar(0);
  Shape all{batch, classes, count}, one{batch, classes, 1};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Tensor alive = scores;
  if (call.in(4)) {
    Tensor threshold = call.in(4).reshape({}).wide();
    alive = (scores > threshold).select(scores, scores.scalar(-kInfinity));
  }
  Corners corners = corners_of(boxes, call.i("center_point_box", 0) == 1);
  std::vector<Tensor> read{corners.y1, corners.x1, corners.y2, corners.x2, overlap.wide()};
  Tensor chosen = boxes.iota({batch, classes, wanted}, 2, DType::kI32) * 0.0 - 1.0;
  LoopBody body = [&](const Tensor& t, const std::vector<Tensor>& now,
                      const std::vector<Tensor>& r) {
    Corners c{r[0], r[1], r[2], r[3]};
    Tensor left = now[0], place = left.iota(all, 2, DType::kI32);
    Tensor top = left.reduce(Op::kMaximum, {2}, true);
    Tensor is_top = (left >= top) & (left > -kInfinity);
    Tensor best = is_top.select(place, place.scalar(static_cast<double>(count)))
                      .reduce(Op::kMinimum, {2}, true);
    Tensor found = best < static_cast<double>(count);
    Tensor is_best = equal(place, best);
    auto of_best = [&](const Tensor& x) {
      return is_best.select(x.unsqueeze({1}), x.scalar(0)).sum({2}, true);
    };
    auto of_all = [&](const Tensor& x) { return x.unsqueeze({1}).broadcast_to(all); };
    Corners b{of_best(c.y1), of_best(c.x1), of_best(c.y2), of_best(c.x2)};
    Corners o{of_all(c.y1), of_all(c.x1), of_all(c.y2), of_all(c.x2)};
    Tensor shared =
        (b.y2.min(o.y2) - b.y1.max(o.y1)).max(0.0) * (b.x2.min(o.x2) - b.x1.max(o.x1)).max(0.0);
    Tensor together = b.area() + o.area() - shared;
    Tensor ratio = (together > 0.0).select(shared / together, shared.scalar(0));
    Tensor goes = is_best | (ratio > r[4]);
    Tensor result = found.select(best, best.scalar(-1)).squeeze({2});
    return std::vector<Tensor>{(goes & found).select(left.scalar(-kInfinity), left),
                               with_element(now[1], result, t, 2)};
  };
  Emitter& emitter = *call.emitter;
  Tensor trips(emitter, emitter.scalar(DType::kI64, static_cast<double>(wanted)));
  Tensor list = run_loop(emitter, trips, false, {alive, chosen}, read, body)[1];
  int64_t size = batch * classes * wanted;
  Places places = places_of((list >= 0.0).reshape({size}));
  Tensor at_place = places.list;
  Tensor box = list.reshape({size}).take(at_place, 0);
  Tensor pair = at_place / static_cast<double>(wanted);
  Tensor klass = pair.binary(Op::kRemainder, pair.scalar(static_cast<double>(classes)));
  Tensor row = concatenate({(pair / static_cast<double>(classes)).unsqueeze({1}),
                            klass.unsqueeze({1}), box.unsqueeze({1})},
                           1);
  return {bounded(row.convert(DType::kI64), 0, places.count)};
}

constexpr OpRow kCountedRows[] = {
    {"Compress", compress},
    {"NonMaxSuppression", non_max_suppression, "A constant number of boxes."},
    {"NonZero", non_zero},
    {"Unique", unique, "Rows along an axis: up to 2^26 comparisons of elements."},
};

}  // namespace

std::span<const OpRow> counted_ops() { return kCountedRows; }

}  // namespace tuff::onnx
