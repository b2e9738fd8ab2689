// Sorting and searching.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/onnx/ops/shared.h"

namespace tuff::onnx {

namespace {

// The largest elements first, of equal ones the first first; likewise the smallest.
std::pair<Tensor, Tensor> sorted(const Tensor& x, int64_t axis, bool largest) {
  Emitter& emitter = x.emitter();
  Tensor place = x.iota(x.shape(), axis, DType::kI32);
  std::vector<TensorType> scalars{
      {x.dtype(), {}}, {x.dtype(), {}}, {DType::kI32, {}}, {DType::kI32, {}}};
  GraphPtr before = make_region(scalars, {}, [largest](const std::vector<Tensor>& p) {
    return std::vector<Tensor>{largest ? p[0] > p[1] : p[0] < p[1]};
  });
  std::vector<Value> results =
      emitter.add(Op::kSort, {x.value(), place.value()}, {x.type(), place.type()},
                  SortAttrs{axis, true}, {before});
  return {Tensor(emitter, results[0]), Tensor(emitter, results[1])};
}

Items top_k(const Call& call) {
  Tensor x = call.need(0);
  int64_t axis = x.axis(call.i("axis", -1));
  int64_t k = call.has("k") ? call.i("k", 0) : call.known_int(1);
  bool largest = call.flag("largest", true);
  if (k < 0 || k > x.dim(axis)) refuse_input(fmt::format("There are no ({}) elements.", k));
  if (largest && axis == x.rank() - 1 && is_float(x.dtype())) {
    std::vector<Value> results =
        call.emitter->add(Op::kTopK, {x.value()}, {x.type(), x.type()}, TopKAttrs{k});
    return {Tensor(*call.emitter, results[0]),
            Tensor(*call.emitter, results[1]).convert(DType::kI64)};
  }
  auto [values, places] = sorted(x, axis, largest);
  return {values.slice(axis, 0, k), places.slice(axis, 0, k).convert(DType::kI64)};
}

// The place of the largest (or smallest) element, the first or the last of equal ones.
template <bool kLargest>
Items arg_extreme(const Call& call) {
  Tensor x = call.need(0);
  int64_t axis = x.axis(call.i("axis", 0));
  bool last = call.flag("select_last_index");
  if (x.dim(axis) == 0) refuse_input("An empty dimension has no largest element.");
  Tensor place = x.iota(x.shape(), axis, DType::kI32);
  std::vector<TensorType> scalars{
      {x.dtype(), {}}, {DType::kI32, {}}, {x.dtype(), {}}, {DType::kI32, {}}};
  GraphPtr better = make_region(scalars, {}, [last](const std::vector<Tensor>& p) {
    Tensor first_wins = kLargest ? p[0] > p[2] : p[0] < p[2];
    if (is_float(p[0].dtype())) first_wins = first_wins | not_equal(p[0], p[0]);
    Tensor earlier = last ? p[1] > p[3] : p[1] < p[3];
    Tensor takes = first_wins | (equal(p[0], p[2]) & earlier);
    return std::vector<Tensor>{first_wins.select(p[0], p[2]), takes.select(p[1], p[3])};
  });
  Emitter& emitter = *call.emitter;
  Value worst =
      emitter.constant(neutral_literal(kLargest ? Op::kMaximum : Op::kMinimum, x.dtype()));
  // Where all elements are as bad as that, the place of one of them is still the better one.
  double none = last ? -1 : static_cast<double>(x.dim(axis));
  std::vector<Value> results =
      emitter.add(Op::kReduce, {x.value(), place.value(), worst, emitter.scalar(DType::kI32, none)},
                  {{x.dtype(), {}}, {DType::kI32, {}}}, DimensionsAttrs{{axis}}, {better});
  Tensor found = Tensor(emitter, results[1]).convert(DType::kI64);
  return {call.flag("keepdims", true) ? found.unsqueeze({axis}) : found};
}

constexpr OpRow kSearchRows[] = {
    {"ArgMax", arg_extreme<true>},
    {"ArgMin", arg_extreme<false>},
    {"TopK", top_k},
};

}  // namespace

std::span<const OpRow> search_ops() { return kSearchRows; }

}  // namespace tuff::onnx
