// The windows of reduce_window and select_and_scatter over an input space.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ir/index/view_map.h"

namespace tuff {

// Per dimension of the input; attributes that are missing are filled in.
struct WindowDims {
  Shape input;
  std::vector<int64_t> sizes, strides, base_dilations, dilations, padding_low;
};
WindowDims window_dims(const Node& node, const Shape& input);

// The input element at position `at` of the window of result element `index`; there
// is none where a condition fails (padding, gaps of the base dilation).
struct WindowElement {
  IndexVector index;
  std::vector<IndexCondition> inside;
};
WindowElement window_element(IndexContext& context, const WindowDims& dims,
                             const IndexVector& index, const IndexVector& at);

// A reduce_window whose windows are all prefixes (reverse: suffixes) of one dimension.
struct WindowScan {
  size_t dim = 0;
  bool reverse = false;
};
std::optional<WindowScan> window_scan(const Node& node, const Shape& input);

}  // namespace tuff
