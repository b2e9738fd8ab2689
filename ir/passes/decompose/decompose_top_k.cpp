// top_k of long rows by selection, for software devices: the kth key of each row is found bit by
// bit, by counting; the elements before it are put together in their order, and those few are
// sorted. A row is read some twenty times, where a sort by merges goes through it as often as it
// can be halved, each time with a search. The counts are one kernel of 48 folds. Where these need
// barriers, drivers take a minute to compile it.
#include <algorithm>

#include "ir/passes/decompose/decompose_rules.h"

namespace tuff::decomposition {

namespace {

class Selection {
 public:
  explicit Selection(const RewriteSite& site) : site_(site), k_(site.node.types[0].shape.back()) {
    const TensorType& type = site.operand_type(0);
    length_ = type.shape.back();
    rows_ = length_ == 0 ? 0 : type.num_elements() / length_;
  }

  bool pays() const {
    constexpr int64_t kLongRow = 1024, kMostTaken = 8;  // one of so many
    const DType dtype = site_.operand_type(0).dtype;
    return dtype_size(dtype) <= 4 && dtype != DType::kBool && rows_ > 0 && k_ > 0 &&
           length_ >= kLongRow && k_ * kMostTaken <= length_ && rows_ * length_ < INT32_MAX;
  }

  std::vector<Value> run() const {
    const Value elements = reshape(site_, site_.node.operands[0], {rows_, length_});
    const Value keys = keys_of(elements);
    const Value last = kth(keys);
    // Of keys that equal the last one, the first few.
    const Value above = compare(ComparisonDirection::kGt, keys, spread(last));
    const Value equal = compare(ComparisonDirection::kEq, keys, spread(last));
    const Value room =
        binary(Op::kSubtract, site_.splat(per_row(DType::kI32), number(k_)), count(above));
    const Value first = compare(ComparisonDirection::kLe, so_far(equal), spread(room));
    const Value taken = binary(Op::kOr, above, binary(Op::kAnd, equal, first));
    const Value places = places_of(taken);
    const Value values = gathered(elements, places);
    Node node = site_.node;
    node.types = {{type(values).dtype, {rows_, k_}}, {site_.node.types[1].dtype, {rows_, k_}}};
    node.operands = {values};
    const Value sorted = site_.out.add(std::move(node));
    const Value positions = gathered(places, {sorted.node, 1});
    return {reshape(site_, sorted, site_.node.types[0].shape),
            reshape(site_, convert(site_, positions, site_.node.types[1].dtype),
                    site_.node.types[1].shape)};
  }

 private:
  // A copy: nodes that are added may move the types.
  TensorType type(Value v) const { return site_.out.type(v); }
  static double number(int64_t n) { return static_cast<double>(n); }
  TensorType per_row(DType dtype) const { return {dtype, {rows_}}; }
  TensorType per_element(DType dtype) const { return {dtype, {rows_, length_}}; }
  Value binary(Op op, Value a, Value b) const { return site_.add(op, {a, b}, type(a)); }
  Value compare(ComparisonDirection direction, Value a, Value b) const {
    return site_.add(Op::kCompare, {a, b}, {DType::kBool, type(a).shape}, CompareAttrs{direction});
  }
  Value bits(Value v, DType dtype) const {
    return site_.add(Op::kBitcastConvert, {v}, {dtype, type(v).shape});
  }
  Value spread(Value v) const { return broadcast(site_, v, {rows_, length_}, {0}); }
  // How many of each row.
  Value count(Value flags) const { return sum(site_, convert(site_, flags, DType::kI32), {1}); }

  // Unsigned numbers in the order of the elements; floats by their total order.
  Value keys_of(Value v) const {
    const DType dtype = type(v).dtype;
    if (is_unsigned_int(dtype)) return convert(site_, v, DType::kU32);
    const Value sign = site_.splat(per_element(DType::kU32), 2147483648.0);
    if (!is_float(dtype))
      return binary(Op::kXor, bits(convert(site_, v, DType::kI32), DType::kU32), sign);
    const Value plain = bits(convert(site_, v, DType::kF32), DType::kI32);
    const Value all = site_.splat(type(plain), 31);
    const Value negative = bits(binary(Op::kShiftRightArithmetic, plain, all), DType::kU32);
    return binary(Op::kXor, bits(plain, DType::kU32), binary(Op::kOr, negative, sign));
  }

  // The kth key of each row: two bits at a time, the largest that k keys reach.
  Value kth(Value keys) const {
    const Value wanted = site_.splat(per_row(DType::kI32), number(k_));
    Value known = site_.splat(per_row(DType::kU32), 0);
    for (int64_t bit = 30; bit >= 0; bit -= 2) {
      const Value step = site_.splat(per_row(DType::kU32), number(int64_t{1} << bit));
      const Value none = site_.splat(per_row(DType::kU32), 0);
      Value candidate = known, next = known;
      for (int i = 0; i < 3; ++i) {
        candidate = binary(Op::kAdd, candidate, step);
        const Value reached = count(compare(ComparisonDirection::kGe, keys, spread(candidate)));
        const Value enough = compare(ComparisonDirection::kGe, reached, wanted);
        next = binary(Op::kAdd, next,
                      site_.add(Op::kSelect, {enough, step, none}, per_row(DType::kU32)));
      }
      known = next;
    }
    return known;
  }

  // How many of the row are set up to each element, itself among them.
  Value so_far(Value flags) const {
    const TensorType scalar{DType::kI32, {}};
    Graph body;
    const Value a = body.add_parameter(scalar), b = body.add_parameter(scalar);
    body.set_outputs({add_op(body, Op::kAdd, {a, b}, scalar)});
    WindowAttrs attrs;
    attrs.window_dimensions = {1, length_};
    attrs.window_strides = attrs.base_dilations = attrs.window_dilations = {1, 1};
    attrs.padding = {0, 0, length_ - 1, 0};
    Node node;
    node.op = Op::kReduceWindow;
    node.loc = site_.node.loc;
    node.types = {per_element(DType::kI32)};
    node.operands = {convert(site_, flags, DType::kI32), site_.splat(scalar, 0)};
    node.attrs = std::move(attrs);
    node.regions = {std::make_shared<const Graph>(std::move(body))};
    return site_.out.add(std::move(node));
  }

  // [rows, k] of where the elements that are taken stand, in their order.
  Value places_of(Value taken) const {
    const TensorType integers = per_element(DType::kI32), scalar{DType::kI32, {}};
    const Value one = site_.splat(integers, 1), outside = site_.splat(integers, number(k_));
    const Value target = site_.add(
        Op::kSelect, {taken, binary(Op::kSubtract, so_far(taken), one), outside}, integers);
    Graph body;
    body.add_parameter(scalar);
    body.set_outputs({body.add_parameter(scalar)});
    ScatterAttrs attrs;
    attrs.inserted_window_dims = attrs.scatter_dims_to_operand_dims = {1};
    attrs.input_batching_dims = attrs.scatter_indices_batching_dims = {0};
    attrs.index_vector_dim = 2;
    attrs.unique_indices = true;
    Node node;
    node.op = Op::kScatter;
    node.loc = site_.node.loc;
    node.types = {{DType::kI32, {rows_, k_}}};
    node.operands = {site_.splat(node.types[0], 0), reshape(site_, target, {rows_, length_, 1}),
                     site_.add(Op::kIota, {}, integers, IotaAttrs{1})};
    node.attrs = std::move(attrs);
    node.regions = {std::make_shared<const Graph>(std::move(body))};
    return site_.out.add(std::move(node));
  }

  // Of each row of v the elements at [rows, k] places.
  Value gathered(Value v, Value places) const {
    GatherAttrs attrs;
    attrs.collapsed_slice_dims = attrs.start_index_map = {1};
    attrs.operand_batching_dims = attrs.start_indices_batching_dims = {0};
    attrs.index_vector_dim = 2;
    attrs.slice_sizes = {1, 1};
    return site_.add(Op::kGather, {v, reshape(site_, places, {rows_, k_, 1})},
                     {type(v).dtype, {rows_, k_}}, std::move(attrs));
  }

  const RewriteSite& site_;
  int64_t rows_ = 0, length_ = 0, k_;
};

}  // namespace

Values selected_top_k(const RewriteSite& site, const Caps& caps) {
  if (caps.device_class != DeviceClass::kSoftwareRasteriser || !caps.subgroup_shuffle)
    return std::nullopt;
  Selection selection(site);
  return selection.pays() ? Values(selection.run()) : std::nullopt;
}

}  // namespace tuff::decomposition
