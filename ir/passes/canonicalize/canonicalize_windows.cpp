// Padding before a reduce_window that pads with the same value is the window's own.
#include <cstring>

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
  auto amount = [](const std::vector<int64_t>& list, size_t d) {
    return list.empty() ? 0 : list[d];
  };
  auto attrs = site.node.attrs.as<WindowAttrs>();
  if (attrs.padding.empty()) attrs.padding.assign(2 * padded.size(), 0);
  attrs.base_dilations = dims.base_dilations;
  for (size_t d = 0; d < padded.size(); ++d) {
    int64_t low = amount(amounts.edge_padding_low, d), high = amount(amounts.edge_padding_high, d);
    if (low < 0 || high < 0 || dims.base_dilations[d] != 1) return std::nullopt;
    attrs.padding[2 * d] += low;
    attrs.padding[2 * d + 1] += high;
    attrs.base_dilations[d] = amount(amounts.interior_padding, d) + 1;
  }
  Node window = site.node;
  window.operands[0] = pad.operands[0];
  window.attrs = std::move(attrs);
  return site.out.add(std::move(window));
}

constexpr Rule kWindowRules[] = {{Op::kReduceWindow, absorb_padding}};

}  // namespace

Values windows(const RewriteSite& site) { return first_that_applies(kWindowRules, site); }

}  // namespace tuff::canonical
