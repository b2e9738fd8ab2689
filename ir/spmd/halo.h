// Windows over a dimension that is spread: what a device needs of its neighbours' parts, its halo,
// and the windows over its part with the halo around it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace tuff::spmd {

// One dimension of an operation with windows; names as in StableHLO.
struct Window {
  size_t input = 0, output = 0;  // which dimension of the operand and of the result
  std::optional<size_t> kernel;  // and of a convolution's kernel
  size_t spatial = 0;            // where the attributes have it
  int64_t input_extent = 0, output_extent = 0, window_extent = 0;
  int64_t stride = 1, padding_low = 0, base_dilation = 1, window_dilation = 1;
  bool reversed = false;
};

// The dimensions of a convolution or reduce_window; none of other operations.
std::vector<Window> windows_of(const Graph& graph, const Node& node);

// Elements of the parts before and behind, and the padding around all of them: of zeros or the
// initial value, negative where elements are left out.
struct Halo {
  int64_t before = 0, behind = 0;
  int64_t padding_low = 0, padding_high = 0;
};

// Each part of the result from its part of the operand; nothing where the parts do not move
// alike, or where windows reach beyond a neighbour's part.
std::optional<Halo> halo_of_outputs(const Window& window, int64_t parts);
// The kernel's dimension is spread as well, as of a kernel's gradient: each device has a share of
// the whole result.
std::optional<Halo> halo_of_shares(const Window& window, int64_t parts);

}  // namespace tuff::spmd
