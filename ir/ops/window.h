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
  // Gaps of the base dilation need not take part, so that they are not walked where it is known
  // where they lie.
  bool skips_gaps = false;
};
WindowDims window_dims(const Node& node, const Shape& input);

// How many elements of a window are to be looked at per dimension.
Shape window_taps(const WindowDims& dims);

// The input element number `at` of the window of result element `index`, at < window_taps; there
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

// Over how many innermost elements, side by side, no window reaches.
int64_t window_columns(const Node& node, const Shape& input);
// A library (Caps::library_calls) folds windows over so many of them.
inline constexpr int64_t kMinWindowColumns = 16;

}  // namespace tuff
