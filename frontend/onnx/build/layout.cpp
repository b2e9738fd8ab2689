#include "frontend/onnx/build/layout.h"

#include <algorithm>

namespace tuff::onnx {

namespace {

// The value of which the tensor is the transpose with channels first; none where it is not.
Tensor channels_last_of(const Tensor& x) {
  const Node& node = x.emitter().graph().node(x.value());
  bool moves = node.op == Op::kTranspose && x.rank() >= 4 &&
               node.attrs.as<TransposeAttrs>().permutation == channels_first(x.rank());
  return moves ? Tensor(x.emitter(), node.operands[0]) : Tensor();
}

// Where a dimension is when channels are last.
int64_t moved(int64_t dim, int64_t rank) { return channels_first(rank)[at(dim)]; }
Ints moved(const Ints& dims, int64_t rank) {
  Ints list;
  for (int64_t d : dims) list.push_back(moved(d, rank));
  return list;
}
// A list with an entry a dimension.
Ints in_last_order(const Ints& list, size_t each = 1) {
  Ints result(list.size());
  auto rank = static_cast<int64_t>(list.size() / each);
  for (int64_t d = 0; d < rank; ++d)
    for (size_t k = 0; k < each; ++k)
      result[at(moved(d, rank)) * each + k] = list[at(d) * each + k];
  return result;
}

// What is broadcast, with channels last.
Tensor broadcast_last(const Tensor& x, const Node& node) {
  const Ints& dims = node.attrs.as<BroadcastInDimAttrs>().broadcast_dimensions;
  Tensor from(x.emitter(), node.operands[0]);
  Shape kept;
  Ints to;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (from.shape()[i] == 1) continue;
    kept.push_back(from.shape()[i]);
    to.push_back(moved(dims[i], x.rank()));
  }
  if (!std::is_sorted(to.begin(), to.end())) return {};
  return from.reshape(std::move(kept)).broadcast(in_last_order(x.shape()), std::move(to));
}

Tensor operand_last(const Tensor& x) {
  if (Tensor last = channels_last_of(x)) return last;
  const Node& node = x.emitter().graph().node(x.value());
  if (node.op == Op::kBroadcastInDim) return broadcast_last(x, node);
  return {};
}

std::optional<Attrs> attributes_last(Op op, const Attrs& attrs, int64_t rank) {
  if (is_elementwise(op)) return attrs;
  if (op == Op::kConcatenate)
    return ConcatenateAttrs{moved(attrs.as<ConcatenateAttrs>().dimension, rank)};
  if (op == Op::kSlice) {
    const auto& a = attrs.as<SliceAttrs>();
    return SliceAttrs{in_last_order(a.start_indices), in_last_order(a.limit_indices),
                      in_last_order(a.strides)};
  }
  if (op == Op::kPad) {
    const auto& a = attrs.as<PadAttrs>();
    return PadAttrs{in_last_order(a.edge_padding_low), in_last_order(a.edge_padding_high),
                    in_last_order(a.interior_padding)};
  }
  return std::nullopt;
}

// Neighbouring dimensions of one shape, [first, last), that are as many elements as those of the
// other.
struct Segment {
  size_t first, last, to_first, to_last;
  bool splits_or_joins() const { return last - first == 1 || to_last - to_first == 1; }
};

// Nothing where there are no elements, or not as many.
std::vector<Segment> segments_of(const Shape& from, const Shape& to) {
  std::vector<Segment> segments;
  if (num_elements(from) == 0 || num_elements(from) != num_elements(to)) return segments;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    Segment s{i, i + 1, j, j + 1};
    int64_t left = from[i++], right = to[j++];
    while (left != right) left < right ? left *= from[i++] : right *= to[j++];
    s.last = i, s.to_last = j;
    segments.push_back(s);
  }
  if (segments.empty()) return segments;
  segments.back().last = from.size(), segments.back().to_last = to.size();
  return segments;
}

// Where x is the transpose by `permutation` of a value with channels last, those of the second
// segment: that value's dimensions with each segment's side by side, the second segment's last.
std::optional<Ints> last_order(const std::vector<Segment>& segments, const Ints& permutation) {
  Ints order;
  auto take = [&](const Segment& s) {
    for (size_t d = s.first; d < s.last; ++d) order.push_back(permutation[d]);
  };
  take(segments[0]);
  for (size_t s = 2; s < segments.size(); ++s) take(segments[s]);
  const size_t others = order.size();
  take(segments[1]);
  bool last = std::is_sorted(order.begin(), order.begin() + static_cast<long>(others)) &&
              *std::min_element(order.begin() + static_cast<long>(others), order.end()) ==
                  static_cast<int64_t>(others);
  return last ? std::optional(order) : std::nullopt;
}

}  // namespace

Ints channels_first(int64_t rank) {
  Ints permutation{0, rank - 1};
  for (int64_t d = 1; d < rank - 1; ++d) permutation.push_back(d);
  return permutation;
}

Ints channels_last(int64_t rank) {
  Ints permutation{0};
  for (int64_t d = 2; d < rank; ++d) permutation.push_back(d);
  permutation.push_back(1);
  return permutation;
}

std::optional<Tensor> before_transpose(Op op, const std::vector<Tensor>& operands,
                                       const TensorType& type, const Attrs& attrs) {
  int64_t rank = operands[0].rank();
  if (rank < 4 || std::none_of(operands.begin(), operands.end(),
                               [](const Tensor& t) { return bool(channels_last_of(t)); }))
    return std::nullopt;
  std::optional<Attrs> moved_attrs = attributes_last(op, attrs, rank);
  if (!moved_attrs) return std::nullopt;
  std::vector<Tensor> last;
  for (const Tensor& t : operands) {
    bool scalar_of_pad = op == Op::kPad && t.rank() == 0;
    if (!scalar_of_pad && t.rank() != rank) return std::nullopt;
    last.push_back(scalar_of_pad ? t : operand_last(t));
    if (!last.back()) return std::nullopt;
  }
  TensorType result{type.dtype, in_last_order(last[0].shape())};
  if (is_elementwise(op)) result.shape = last[0].shape();
  Tensor first = last[0];
  last.erase(last.begin());
  return first.add(op, std::move(last), std::move(result), *std::move(moved_attrs))
      .transpose(channels_first(rank));
}

std::optional<Tensor> reshape_before_transpose(const Tensor& x, const Shape& to) {
  const Node& node = x.emitter().graph().node(x.value());
  if (node.op != Op::kTranspose || x.rank() < 4) return std::nullopt;
  std::vector<Segment> segments = segments_of(x.shape(), to);
  if (segments.size() < 3 || !std::all_of(segments.begin(), segments.end(),
                                          [](const Segment& s) { return s.splits_or_joins(); }))
    return std::nullopt;
  std::optional<Ints> order = last_order(segments, node.attrs.as<TransposeAttrs>().permutation);
  if (!order) return std::nullopt;
  std::rotate(segments.begin() + 1, segments.begin() + 2, segments.end());
  Shape last;
  Ints back(to.size());
  for (const Segment& s : segments)
    for (size_t d = s.to_first; d < s.to_last; ++d) {
      back[d] = static_cast<int64_t>(last.size());
      last.push_back(to[d]);
    }
  return Tensor(x.emitter(), node.operands[0])
      .transpose(*std::move(order))
      .reshape(std::move(last))
      .transpose(std::move(back));
}

std::optional<Tensor> reduce_before_transpose(const Tensor& x, Op op, const Ints& dims, bool keep) {
  Tensor last = channels_last_of(x);
  if (!last) return std::nullopt;
  Ints to = moved(dims, x.rank());
  if (keep) return last.reduce(op, to, true).transpose(channels_first(x.rank()));
  // What stays must stay in its order.
  Ints stays;
  for (int64_t d = 0; d < x.rank(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) stays.push_back(moved(d, x.rank()));
  if (!std::is_sorted(stays.begin(), stays.end())) return std::nullopt;
  return last.reduce(op, to, false);
}

std::optional<Tensor> windows_before_transpose(const Tensor& x, Op op, const WindowAttrs& window) {
  Tensor last = channels_last_of(x);
  if (!last) return std::nullopt;
  WindowAttrs to{in_last_order(window.window_dimensions), in_last_order(window.window_strides),
                 in_last_order(window.base_dilations), in_last_order(window.window_dilations),
                 in_last_order(window.padding, 2)};
  return last.reduce_window(op, std::move(to)).transpose(channels_first(x.rank()));
}

}  // namespace tuff::onnx
