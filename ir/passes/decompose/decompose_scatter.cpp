// scatter of many updates, of which several may meet. For devices with many lanes: an element's
// updates are brought together by a sort of the places they go to, and added up two by two, four
// by four and so on. The last one of each element then has the sum of all, and no two of those
// meet. So every update has a lane of its own, and sums have the same bits in every run. For
// devices with few lanes: these have each a part of the updates and a result of their own.
#include <algorithm>
#include <limits>

#include "ir/ops/neutral.h"
#include "ir/ops/scatter.h"
#include "ir/passes/decompose/decompose_rules.h"

namespace tuff::decomposition {

namespace {

using Ints = std::vector<int64_t>;

// Shares of a device with few lanes: two workgroups of eight.
constexpr int64_t kShares = 16;
// Fewer updates are applied one after another before a sort has begun.
constexpr int64_t kManyUpdates = 1024;
// With windows of more elements, a lane for each of those is busy enough.
constexpr int64_t kSmallWindow = 1024;

class ManyUpdates {
 public:
  explicit ManyUpdates(const RewriteSite& site)
      : site_(site), s_(scatter_dims(site.out, site.node)) {
    const Shape& shape = site.node.types[0].shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      const ScatterDims::Dim& dim = s_.dims[d];
      bool given = dim.component >= 0 || dim.batch >= 0;
      (given ? places_ : window_).push_back(static_cast<int64_t>(d));
      if (!given) window_shape_.push_back(dim.window);
    }
  }

  bool sort_pays() const {
    const int64_t window = num_elements(window_shape_);
    return are_many() && window > 0 && window <= kSmallWindow;
  }
  // Windows and batches give lanes work of their own; large results are not worth a copy for each.
  bool shares_pay() const {
    int64_t batch = 1;
    for (int64_t d : places_)
      if (dim(d).batch >= 0) batch *= dim(d).size;
    return are_many() && window_.empty() && batch < kShares && count() % kShares == 0 &&
           targets() * kShares <= count() && neutral();
  }

  Value sorted() const {
    Value place = places();
    Value order = site_.add(Op::kIota, {}, integers(), IotaAttrs{0});
    place = sort(place, order);
    Value sums = sum_equal(place, in_order({place.node, 1}));
    Value next = shifted(place, -1, site_.splat({DType::kI32, {}}, -1));
    Value last = compare(ComparisonDirection::kNe, place, next);
    Value nowhere = site_.splat(integers(), static_cast<double>(targets()));
    place = site_.add(Op::kSelect, {last, place, nowhere}, integers());
    return scatter(index_vectors(place), sums);
  }

  // [shares, targets] of what each share makes of its own updates, put together and added.
  Value in_shares() const {
    const DType dtype = site_.node.types[0].dtype;
    const int64_t share = count() / kShares;
    ScatterAttrs attrs;
    attrs.inserted_window_dims = attrs.scatter_dims_to_operand_dims = {1};
    attrs.input_batching_dims = attrs.scatter_indices_batching_dims = {0};
    attrs.index_vector_dim = 2;
    const TensorType own{dtype, {kShares, targets()}};
    Node node = site_.node;
    node.types = {own};
    node.operands = {broadcast(site_, site_.constant(*neutral()), own.shape, {}),
                     reshape(site_, places(), {kShares, share, 1}),
                     reshape(site_, in_places_order(), {kShares, share})};
    node.attrs = std::move(attrs);
    Value results = site_.out.add(std::move(node));
    node = site_.node;
    node.op = Op::kReduce;
    node.types = {{dtype, {targets()}}};
    node.operands = {results, site_.constant(*neutral())};
    node.attrs = DimensionsAttrs{{0}};
    Value all = reshape(site_, site_.out.add(std::move(node)), site_.node.types[0].shape);
    return combined(site_.node.operands[0], all);
  }

 private:
  bool are_many() const {
    for (int64_t d : places_)
      if (dim(d).batch < 0 && dim(d).window != 1) return false;
    const int64_t most = std::numeric_limits<int32_t>::max();
    return !places_.empty() && targets() > 0 && targets() < most && count() < most &&
           count() >= kManyUpdates;
  }
  // Of the body, if it is one operation that has such a value.
  std::optional<Literal> neutral() const {
    const std::optional<Op> op = single_op(*site_.node.regions[0]);
    return op ? neutral_value(*op, site_.node.types[0].dtype) : std::nullopt;
  }
  const ScatterDims::Dim& dim(int64_t d) const { return s_.dims[static_cast<size_t>(d)]; }
  int64_t count() const { return num_elements(s_.batch); }
  TensorType integers() const { return {DType::kI32, {count()}}; }
  const TensorType& type(Value v) const { return site_.out.type(v); }
  int64_t targets() const {
    int64_t product = 1;
    for (int64_t d : places_) product *= dim(d).size;
    return product;
  }
  Value compare(ComparisonDirection direction, Value a, Value b) const {
    return site_.add(Op::kCompare, {a, b}, {DType::kBool, type(a).shape}, CompareAttrs{direction});
  }
  Value binary(Op op, Value a, Value b) const { return site_.add(op, {a, b}, type(a)); }
  Value numbers_like(Value v, int64_t number) const {
    return site_.splat(type(v), static_cast<double>(number));
  }

  // Component c of the index vectors.
  Value component(int64_t c) const {
    Value indices = site_.node.operands[1];
    if (s_.vector_dim < static_cast<int64_t>(s_.indices_rank))
      indices = slice(site_, indices, static_cast<size_t>(s_.vector_dim), c, c + 1);
    return reshape(site_, indices, {count()});
  }

  // The number of the result's window that each update goes to; targets() where it goes nowhere.
  Value places() const {
    Value place = site_.splat(integers(), 0);
    std::optional<Value> inside;
    for (int64_t d : places_) {
      place = binary(Op::kMultiply, place, numbers_like(place, dim(d).size));
      if (dim(d).batch >= 0) {
        TensorType grid{DType::kI32, s_.batch};
        Value at = site_.add(Op::kIota, {}, grid, IotaAttrs{dim(d).batch});
        place = binary(Op::kAdd, place, reshape(site_, at, {count()}));
        continue;
      }
      Value at = component(dim(d).component);
      Value low = compare(ComparisonDirection::kGe, at, numbers_like(at, 0));
      Value high = below(at, dim(d).size);
      Value both = binary(Op::kAnd, low, high);
      inside = inside ? binary(Op::kAnd, *inside, both) : both;
      place = binary(Op::kAdd, place, convert(site_, at, DType::kI32));
    }
    if (!inside) return place;
    Value nowhere = site_.splat(integers(), static_cast<double>(targets()));
    return site_.add(Op::kSelect, {*inside, place, nowhere}, integers());
  }

  Value below(Value at, int64_t size) const {
    DType dtype = type(at).dtype;
    int bits = dtype_bits(dtype) - (is_signed_int(dtype) ? 1 : 0);
    // All its numbers are.
    if (bits < 62 && size >= int64_t{1} << bits)
      return site_.splat({DType::kBool, type(at).shape}, 1);
    return compare(ComparisonDirection::kLt, at, numbers_like(at, size));
  }

  Value sort(Value keys, Value order) const {
    TensorType scalar{DType::kI32, {}};
    Graph less;
    Value a = less.add_parameter(scalar), b = less.add_parameter(scalar);
    less.add_parameter(scalar), less.add_parameter(scalar);
    less.set_outputs({add_op(less, Op::kCompare, {a, b}, {DType::kBool, {}},
                             CompareAttrs{ComparisonDirection::kLt})});
    Node node;
    node.op = Op::kSort;
    node.loc = site_.node.loc;
    node.types = {integers(), integers()};
    node.operands = {keys, order};
    node.attrs = SortAttrs{0, true};
    node.regions = {std::make_shared<const Graph>(std::move(less))};
    return site_.out.add(std::move(node));
  }

  // The updates as their places follow each other, then by window.
  Value in_places_order() const {
    Value updates = site_.node.operands[2];
    Ints permutation = s_.batch_update_dims;
    for (size_t d = 0; d < s_.dims.size(); ++d)
      if (s_.dims[d].update_dim >= 0) permutation.push_back(s_.dims[d].update_dim);
    Shape turned;
    for (int64_t d : permutation) turned.push_back(type(updates).shape[static_cast<size_t>(d)]);
    DType dtype = type(updates).dtype;
    return site_.add(Op::kTranspose, {updates}, {dtype, std::move(turned)},
                     TransposeAttrs{std::move(permutation)});
  }

  // [updates, window] of the updates, those that the sort put first at the front.
  Value in_order(Value order) const {
    Value updates = in_places_order();
    const DType dtype = type(updates).dtype;
    Shape shape = {count()};
    shape.insert(shape.end(), window_shape_.begin(), window_shape_.end());
    GatherAttrs attrs;
    for (size_t d = 0; d < window_shape_.size(); ++d)
      attrs.offset_dims.push_back(static_cast<int64_t>(d) + 1);
    attrs.collapsed_slice_dims = attrs.start_index_map = {0};
    attrs.index_vector_dim = 1;
    attrs.slice_sizes = shape;
    attrs.slice_sizes[0] = 1;
    return site_.add(Op::kGather,
                     {reshape(site_, updates, shape), reshape(site_, order, {count(), 1})},
                     {dtype, shape}, std::move(attrs));
  }

  // What stands `by` before, `fill` where nothing does.
  Value shifted(Value v, int64_t by, Value fill) const {
    const TensorType whole = type(v);
    const int64_t size = whole.shape[0];
    Ints low(whole.shape.size(), 0), high = low, interior = low;
    low[0] = std::max<int64_t>(by, 0), high[0] = std::max<int64_t>(-by, 0);
    v = slice(site_, v, 0, high[0], size - low[0]);
    return site_.add(Op::kPad, {v, fill}, whole,
                     PadAttrs{std::move(low), std::move(high), std::move(interior)});
  }

  // Each update with all of the same place before it.
  Value sum_equal(Value place, Value v) const {
    Value zero = site_.splat({type(v).dtype, {}}, 0), none = site_.splat({DType::kI32, {}}, -1);
    for (int64_t by = 1; by < count(); by *= 2) {
      Value same = compare(ComparisonDirection::kEq, place, shifted(place, by, none));
      Value both = combined(shifted(v, by, zero), v);
      v = site_.add(Op::kSelect, {broadcast(site_, same, type(v).shape, {0}), both, v}, type(v));
    }
    return v;
  }

  // What the scatter's body makes of two, element by element.
  Value combined(Value a, Value b) const {
    return elementwise_region(site_, *site_.node.regions[0], {a, b});
  }

  // [updates, places_] of the numbers of windows.
  Value index_vectors(Value place) const {
    std::vector<Value> columns;
    int64_t stride = targets();
    for (int64_t d : places_) {
      stride /= dim(d).size;
      Value at = binary(Op::kDivide, place, numbers_like(place, stride));
      // The first one keeps what is outside.
      if (!columns.empty()) at = binary(Op::kRemainder, at, numbers_like(at, dim(d).size));
      columns.push_back(reshape(site_, at, {count(), 1}));
    }
    if (columns.size() == 1) return columns[0];
    TensorType all{DType::kI32, {count(), static_cast<int64_t>(columns.size())}};
    return site_.add(Op::kConcatenate, std::move(columns), all, ConcatenateAttrs{1});
  }

  Value scatter(Value indices, Value updates) const {
    ScatterAttrs attrs;
    for (size_t d = 0; d < window_.size(); ++d)
      attrs.update_window_dims.push_back(static_cast<int64_t>(d) + 1);
    attrs.inserted_window_dims = attrs.scatter_dims_to_operand_dims = places_;
    attrs.index_vector_dim = 1;
    attrs.unique_indices = true;
    Node node = site_.node;
    node.operands = {node.operands[0], indices, updates};
    node.attrs = std::move(attrs);
    return site_.out.add(std::move(node));
  }

  const RewriteSite& site_;
  ScatterDims s_;
  Ints places_, window_;  // dimensions of the result: those given by an update's place, and others
  Shape window_shape_;
};

}  // namespace

Values many_updates(const RewriteSite& site, const Caps& caps) {
  const Node& node = site.node;
  const bool software = caps.device_class == DeviceClass::kSoftwareRasteriser;
  if ((!is_gpu(caps) && !software) || node.types.size() != 1 ||
      node.attrs.as<ScatterAttrs>().unique_indices || !is_elementwise_region(*node.regions[0]))
    return std::nullopt;
  ManyUpdates updates(site);
  if (is_gpu(caps) && updates.sort_pays()) return std::vector<Value>{updates.sorted()};
  if (software && updates.shares_pay()) return std::vector<Value>{updates.in_shares()};
  return std::nullopt;
}

}  // namespace tuff::decomposition
