#include "ir/spmd/halo.h"

#include <algorithm>

#include "ir/ops/contraction.h"
#include "ir/ops/window.h"

namespace tuff::spmd {

namespace {

std::vector<Window> windows_of_convolution(const Graph& graph, const Node& node) {
  ConvolutionDims dims = convolution_dims(node);
  std::vector<Window> windows;
  for (size_t s = 0; s < dims.input_spatial.size(); ++s) {
    Window window;
    window.input = static_cast<size_t>(dims.input_spatial[s]);
    window.output = static_cast<size_t>(dims.output_spatial[s]);
    window.kernel = static_cast<size_t>(dims.kernel_spatial[s]);
    window.spatial = s;
    window.window_extent = graph.type(node.operands[1]).shape[*window.kernel];
    window.stride = dims.strides[s];
    window.padding_low = dims.padding_low[s];
    window.base_dilation = dims.lhs_dilation[s];
    window.window_dilation = dims.rhs_dilation[s];
    window.reversed = dims.reversal[s];
    windows.push_back(window);
  }
  return windows;
}

std::vector<Window> windows_of_reduce_window(const Graph& graph, const Node& node) {
  WindowDims dims = window_dims(node, graph.type(node.operands[0]).shape);
  std::vector<Window> windows;
  for (size_t d = 0; d < dims.sizes.size(); ++d) {
    Window window;
    window.input = window.output = window.spatial = d;
    window.window_extent = dims.sizes[d];
    window.stride = dims.strides[d];
    window.padding_low = dims.padding_low[d];
    window.base_dilation = dims.base_dilations[d];
    window.window_dilation = dims.dilations[d];
    windows.push_back(window);
  }
  return windows;
}

// For `outputs` windows of `extent` elements, the first `padding_low` before a part of `input`.
// Positions are those of the part, its dilation counted.
std::optional<Halo> halo_around(const Window& window, int64_t input, int64_t outputs,
                                int64_t extent) {
  if (input == 0 || outputs == 0 || extent == 0) return std::nullopt;
  const int64_t dilation = window.base_dilation;
  const int64_t span = (outputs - 1) * window.stride + (extent - 1) * window.window_dilation + 1;
  const int64_t last = span - 1 - window.padding_low;
  Halo halo;
  halo.before = std::max<int64_t>(0, window.padding_low) / dilation;
  halo.behind = std::max<int64_t>(0, last - (input - 1) * dilation) / dilation;
  if (halo.before > input || halo.behind > input) return std::nullopt;
  halo.padding_low = window.padding_low - halo.before * dilation;
  const int64_t held = (halo.before + input + halo.behind - 1) * dilation + 1;
  halo.padding_high = span - halo.padding_low - held;
  return halo;
}

}  // namespace

std::vector<Window> windows_of(const Graph& graph, const Node& node) {
  std::vector<Window> windows;
  if (node.op == Op::kConvolution) windows = windows_of_convolution(graph, node);
  if (node.op == Op::kReduceWindow) windows = windows_of_reduce_window(graph, node);
  for (Window& window : windows) {
    window.input_extent = graph.type(node.operands[0]).shape[window.input];
    window.output_extent = node.types[0].shape[window.output];
  }
  return windows;
}

std::optional<Halo> halo_of_outputs(const Window& window, int64_t parts) {
  if (window.input_extent % parts != 0 || window.output_extent % parts != 0) return std::nullopt;
  if (window.output_extent * window.stride != window.input_extent * window.base_dilation)
    return std::nullopt;
  return halo_around(window, window.input_extent / parts, window.output_extent / parts,
                     window.window_extent);
}

std::optional<Halo> halo_of_shares(const Window& window, int64_t parts) {
  if (!window.kernel || window.reversed) return std::nullopt;
  if (window.input_extent % parts != 0 || window.window_extent % parts != 0) return std::nullopt;
  if (window.window_extent * window.window_dilation != window.input_extent * window.base_dilation)
    return std::nullopt;
  return halo_around(window, window.input_extent / parts, window.output_extent,
                     window.window_extent / parts);
}

}  // namespace tuff::spmd
