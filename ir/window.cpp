#include "ir/window.h"

namespace tuff {

WindowDims window_dims(const Node& node, const Shape& input) {
  auto ints = [&](const char* name) {
    std::vector<int64_t> values = node.attrs.get_ints(name);
    return values.empty() ? std::vector<int64_t>(input.size(), 1) : values;
  };
  WindowDims dims{input,
                  ints("window_dimensions"),
                  ints("window_strides"),
                  ints("base_dilations"),
                  ints("window_dilations"),
                  {}};
  const auto& padding = node.attrs.get_ints("padding");
  for (size_t d = 0; d < input.size(); ++d)
    dims.padding_low.push_back(padding.empty() ? 0 : padding[2 * d]);
  return dims;
}

WindowElement window_element(IndexContext& context, const WindowDims& dims,
                             const IndexVector& index, const IndexVector& at) {
  using Kind = IndexCondition::Kind;
  WindowElement element;
  for (size_t d = 0; d < dims.input.size(); ++d) {
    IndexExpr position =
        index[d] * dims.strides[d] + at[d] * dims.dilations[d] - dims.padding_low[d];
    IndexExpr source = context.floor_div(position, dims.base_dilations[d]);
    for (IndexCondition c :
         {IndexCondition{position, Kind::kNonNegative},
          IndexCondition{context.mod(position, dims.base_dilations[d]), Kind::kZero},
          IndexCondition{IndexExpr(dims.input[d] - 1) - source, Kind::kNonNegative}})
      if (truth(context, c) != Truth::kAlways) element.inside.push_back(std::move(c));
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

}  // namespace tuff
