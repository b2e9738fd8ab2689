#include "ir/ops/window.h"

namespace tuff {

WindowDims window_dims(const Node& node, const Shape& input) {
  const auto& attrs = node.attrs.as<WindowAttrs>();
  auto sized = [&](const std::vector<int64_t>& list) { return list_or(list, input.size(), 1); };
  WindowDims dims{input,
                  sized(attrs.window_dimensions),
                  sized(attrs.window_strides),
                  sized(attrs.base_dilations),
                  sized(attrs.window_dilations),
                  {},
                  false};
  const auto& padding = attrs.padding;
  for (size_t d = 0; d < input.size(); ++d)
    dims.padding_low.push_back(padding.empty() ? 0 : padding[2 * d]);
  return dims;
}

namespace {

// The window's elements then follow each other in steps of the base dilation.
bool skips_gaps(const WindowDims& dims, size_t d) {
  return dims.skips_gaps && dims.base_dilations[d] > 1 && dims.dilations[d] == 1;
}

}  // namespace

Shape window_taps(const WindowDims& dims) {
  Shape taps = dims.sizes;
  for (size_t d = 0; d < taps.size(); ++d)
    if (skips_gaps(dims, d))
      taps[d] = (taps[d] + dims.base_dilations[d] - 1) / dims.base_dilations[d];
  return taps;
}

WindowElement window_element(IndexContext& context, const WindowDims& dims,
                             const IndexVector& index, const IndexVector& at) {
  using Kind = IndexCondition::Kind;
  WindowElement element;
  auto require = [&](IndexCondition c) {
    if (truth(context, c) != Truth::kAlways) element.inside.push_back(std::move(c));
  };
  for (size_t d = 0; d < dims.input.size(); ++d) {
    int64_t base = dims.base_dilations[d];
    IndexExpr first = index[d] * dims.strides[d] - dims.padding_low[d];
    IndexExpr position = first + at[d] * dims.dilations[d];
    IndexExpr source = context.floor_div(position, base);
    if (skips_gaps(dims, d)) {
      // From the first one at or behind the window's begin; none may lie behind its end.
      source = context.floor_div(first + (base - 1), base) + at[d];
      require({first + (dims.sizes[d] - 1) - source * base, Kind::kNonNegative});
      position = source;
    } else {
      require({context.mod(position, base), Kind::kZero});
    }
    require({position, Kind::kNonNegative});
    require({IndexExpr(dims.input[d] - 1) - source, Kind::kNonNegative});
    element.index.push_back(std::move(source));
  }
  return element;
}

std::optional<WindowScan> window_scan(const Node& node, const Shape& input) {
  WindowDims dims = window_dims(node, input);
  if (node.types[0].shape != input) return std::nullopt;
  std::optional<WindowScan> scan;
  for (size_t d = 0; d < input.size(); ++d) {
    int64_t low = dims.padding_low[d];
    if (dims.strides[d] != 1 || dims.base_dilations[d] != 1) return std::nullopt;
    if (dims.sizes[d] == 1 && low == 0) continue;
    bool whole = dims.sizes[d] == input[d] && dims.dilations[d] == 1;
    if (scan || !whole || (low != 0 && low != input[d] - 1)) return std::nullopt;
    scan = WindowScan{d, low == 0};
  }
  return scan;
}

int64_t window_columns(const Node& node, const Shape& input) {
  WindowDims dims = window_dims(node, input);
  int64_t columns = 1;
  for (size_t d = input.size(); d-- > 0; columns *= input[d])
    if (dims.sizes[d] != 1 || dims.strides[d] != 1 || dims.padding_low[d] != 0 ||
        dims.base_dilations[d] != 1 || input[d] != node.types[0].shape[d])
      break;
  return columns;
}

}  // namespace tuff
