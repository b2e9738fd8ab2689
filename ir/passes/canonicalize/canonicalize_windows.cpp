// Padding before a reduce_window that pads with the same value is the window's own. Windows that
// see one element each repeat it.
#include <cstring>

#include "ir/ops/neutral.h"
#include "ir/ops/window.h"
#include "ir/passes/canonicalize/canonicalize_rules.h"

namespace tuff::canonical {

namespace {

bool is_same_scalar(const Graph& graph, Value a, Value b) {
  const Literal *x = splat_value(graph, a), *y = splat_value(graph, b);
  auto size = static_cast<size_t>(dtype_size(graph.type(a).dtype));
  return x != nullptr && y != nullptr && graph.type(a).dtype == graph.type(b).dtype &&
         std::memcmp(x->bytes(), y->bytes(), size) == 0;
}

// Zero is as good as -0 where sums begin.
bool changes_nothing(Op op, const Literal& initial, const Literal& neutral) {
  const auto size = static_cast<size_t>(dtype_size(initial.type().dtype));
  return std::memcmp(initial.bytes(), neutral.bytes(), size) == 0 ||
         (op == Op::kAdd && is_float(initial.type().dtype) && initial.get_double(0) == 0);
}

// Gradients of pools spread their windows by it: nothing need be kept of what is spread, and
// nobody looks for elements in the gaps. A scan of what is padded stays one.
std::optional<Value> absorb_padding(const RewriteSite& site) {
  const Node& pad = site.operand(0);
  if (site.node.types.size() != 1 || pad.op != Op::kPad ||
      !is_same_scalar(site.out, pad.operands[1], site.node.operands[1]))
    return std::nullopt;
  const Shape& padded = site.operand_type(0).shape;
  WindowDims dims = window_dims(site.node, padded);
  if (window_scan(site.node, padded)) return std::nullopt;
  const auto& amounts = pad.attrs.as<PadAttrs>();
  const std::vector<int64_t> lows = list_or(amounts.edge_padding_low, padded.size(), 0);
  const std::vector<int64_t> highs = list_or(amounts.edge_padding_high, padded.size(), 0);
  const std::vector<int64_t> gaps = list_or(amounts.interior_padding, padded.size(), 0);
  auto attrs = site.node.attrs.as<WindowAttrs>();
  if (attrs.padding.empty()) attrs.padding.assign(2 * padded.size(), 0);
  attrs.base_dilations = dims.base_dilations;
  for (size_t d = 0; d < padded.size(); ++d) {
    if (lows[d] < 0 || highs[d] < 0 || dims.base_dilations[d] != 1) return std::nullopt;
    attrs.padding[2 * d] += lows[d];
    attrs.padding[2 * d + 1] += highs[d];
    attrs.base_dilations[d] = gaps[d] + 1;
  }
  Node window = site.node;
  window.operands[0] = pad.operands[0];
  window.attrs = std::move(attrs);
  return site.out.add(std::move(window));
}

// One dimension of windows that are as long as the elements of a dilated base are apart: each sees
// one element, or none.
struct Repeat {
  size_t dim = 0;
  int64_t times = 1;
  int64_t skipped = 0;  // of the first element's places; negative: places before it
};
std::optional<std::vector<Repeat>> repeats(const WindowDims& dims, const WindowAttrs& attrs) {
  std::vector<Repeat> found;
  for (size_t d = 0; d < dims.sizes.size(); ++d) {
    if (dims.strides[d] != 1 || dims.base_dilations[d] != dims.sizes[d]) return std::nullopt;
    const int64_t times = dims.sizes[d], low = dims.padding_low[d];
    const int64_t high = attrs.padding.empty() ? 0 : attrs.padding[2 * d + 1];
    if (times == 1 && (low != 0 || high != 0)) return std::nullopt;
    if (times > 1 && dims.dilations[d] != 1) return std::nullopt;
    if (times > 1) found.push_back({d, times, times - 1 - low});
  }
  return found.empty() ? std::nullopt : std::optional(std::move(found));
}

// Gradients of pools whose windows do not overlap.
std::optional<Value> repeat_elements(const RewriteSite& site) {
  const Node& node = site.node;
  if (node.types.size() != 1 || node.types[0].num_elements() == 0) return std::nullopt;
  const std::optional<Op> op = single_op(*node.regions[0]);
  const std::optional<Literal> neutral =
      op ? neutral_value(*op, node.types[0].dtype) : std::nullopt;
  const Literal* initial = splat_value(site.out, node.operands[1]);
  if (!neutral || initial == nullptr || !changes_nothing(*op, *initial, *neutral))
    return std::nullopt;
  const TensorType type = site.operand_type(0);
  if (type.num_elements() == 0) return std::nullopt;
  const auto found = repeats(window_dims(node, type.shape), node.attrs.as<WindowAttrs>());
  if (!found) return std::nullopt;
  // The sum of an element and the initial value: -0 is 0 then.
  auto spread = [&](Value v, const Shape& shape, std::vector<int64_t> to) {
    return site.add(Op::kBroadcastInDim, {v}, {type.dtype, shape},
                    BroadcastInDimAttrs{std::move(to)});
  };
  Value v = site.add(*op, {node.operands[0], spread(node.operands[1], type.shape, {})}, type);
  Shape apart, together = type.shape;
  std::vector<int64_t> places;
  PadAttrs pad;
  pad.edge_padding_low.assign(type.shape.size(), 0);
  pad.edge_padding_high = pad.interior_padding = pad.edge_padding_low;
  auto next = found->begin();
  for (size_t d = 0; d < type.shape.size(); ++d) {
    places.push_back(static_cast<int64_t>(apart.size()));
    apart.push_back(type.shape[d]);
    if (next == found->end() || next->dim != d) continue;
    apart.push_back(next->times);
    together[d] *= next->times;
    pad.edge_padding_low[d] = -next->skipped;
    pad.edge_padding_high[d] = node.types[0].shape[d] + next->skipped - together[d];
    ++next;
  }
  v = spread(v, apart, std::move(places));
  v = site.add(Op::kReshape, {v}, {type.dtype, together});
  if (together == node.types[0].shape && pad.edge_padding_low == pad.interior_padding) return v;
  return site.add(Op::kPad, {v, node.operands[1]}, node.types[0], std::move(pad));
}

constexpr Rule kWindowRules[] = {{Op::kReduceWindow, absorb_padding},
                                 {Op::kReduceWindow, repeat_elements}};

}  // namespace

Values windows(const RewriteSite& site) { return first_that_applies(kWindowRules, site); }

}  // namespace tuff::canonical
